"""What ours of Table 2 chooses its weights and compositions by: decided on train alone.

    python -m experiments.holdout make DATA/gowalla/train.txt.gz local/gowalla.npz \
        --rehearsal -o local/rehearsal/gowalla.npz
    python -m experiments.holdout make DATA/gowalla/train.txt.gz local/gowalla.npz \
        --rehearsal --users 5000 -o local/rehearsal/last/gowalla.npz
    python -m experiments.table2 run --dataset gowalla --methods ours --metric both@50 \
        --data local/rehearsal --choose local/rehearsal/last \
        --config experiments/configs/table2-late.toml --experiment table2-rehearsal --gpu
    python -m experiments.rehearsal draw

A rehearsal's test is everyone's last eighth of train, so nothing of the table's test is seen. What
wins, by the mean over the table's four metrics, its sizes and the data sets, is `tasks.CHOSEN_BY`.
`draw --experiment table2-rehearsal-lists --against both@50` shows another one: the mean of the four
(`four@100`, which commit 510bde4 knew), on short trainings of Gowalla.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from experiments import lines
from experiments.command import make_app
from experiments.comparison import SIZES, word_of
from experiments.paper import METRICS
from experiments.tasks import PRESET_METRIC

EXPERIMENT = "table2-rehearsal"
PERSON = "vector+history"
app = make_app(__doc__)

Values = dict[int, dict[str, float]]
"""Metrics of each seed."""


@app.command()
def draw(
    experiment: Annotated[str, typer.Option(help="Name of the lines.")] = EXPERIMENT,
    against: Annotated[str, typer.Option(help="The metric compared with.")] = PRESET_METRIC,
) -> None:
    """Print what choosing by other metrics than one, Recall@50 by default, brought."""
    print(table(experiment=experiment, against=against))


def table(
    results: Path | None = None, *, experiment: str = EXPERIMENT, against: str = PRESET_METRIC
) -> str:
    """What each metric to choose by brings against another, as a Markdown table."""
    heads = [word_of(metric) for metric in METRICS]
    rows = [
        f"| chosen by | data set | {' | '.join(heads)} | mean | seeds |",
        "|---|---|" + "---|" * (len(heads) + 2),
    ]
    gains = gains_of(lines.read_from(results or lines.RESULTS, experiment), against)
    every = defaultdict[str, list[float]](list)
    for (by, dataset), (found, n_seeds) in gains.items():
        cells = [" ".join(f"{100 * gain:+.1f}" for gain in found[metric]) for metric in METRICS]
        whole = mean(gain for metric in METRICS for gain in found[metric])
        every[by].append(whole)
        rows.append(
            f"| {word_of(by)} | {dataset} | {' | '.join(cells)} | {whole:+.2%} | {n_seeds} |"
        )
    for by, wholes in every.items():
        empty = " | ".join("–" for _ in METRICS)
        rows.append(f"| {word_of(by)} | all | {empty} | **{mean(wholes):+.2%}** | |")
    return "\n".join(rows)


def gains_of(
    found: list[dict[str, Any]], against: str = PRESET_METRIC
) -> dict[tuple[str, str], tuple[dict[str, list[float]], int]]:
    """By metric chosen by and data set: each metric's gain over choosing by another, as a share.

    Gains stand size by size, over the seeds that both have, and how many these are stands beside.
    """
    cells = defaultdict[tuple[str, str, float], Values](dict)
    for line in found:
        if line["person"] == PERSON:
            by = line["config"].get("chosen_by", PRESET_METRIC)
            cells[line["dataset"], by, float(line["nominal_mb"])][line["seed"]] = line["metrics"]
    out = {}
    for dataset, by in sorted({(d, by) for d, by, _ in cells if by != against}):
        gains, fewest = defaultdict[str, list[float]](list), None
        for mb in SIZES:
            one, usual = (cells.get((dataset, x, float(mb)), {}) for x in (by, against))
            shared = one.keys() & usual.keys()
            if not shared:
                continue
            fewest = len(shared) if fewest is None else min(fewest, len(shared))
            for metric in METRICS:
                a, b = (mean(each[seed][metric] for seed in shared) for each in (one, usual))
                gains[metric].append(a / b - 1)
        if fewest is not None:
            out[by, dataset] = dict(gains), fewest
    return out


if __name__ == "__main__":
    app()
