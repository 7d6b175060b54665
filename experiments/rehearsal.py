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
(`four@100`, which commit 510bde4 knew), on short trainings of Gowalla. `draw --experiment
table2-rehearsal-gain --by settings` compares settings of the two trainings: by how much the
exponent of the popularity gain is raised, whether what chooses is trained as long as what is
shipped, and what share of validation is spread evenly over groups where votes are weighed
(`configs/table2-late.toml`, `table2-long.toml`, `table2-gain-3.toml`, `table2-gain-6.toml` and
`table2-last.toml`). `draw --experiment table2-rehearsal-blocks --by settings` compares tables of
more blocks, on Yelp2018 (`configs/table2-blocks-20.toml` and so on), and searches that measure all
candidates (`configs/table2-measured.toml`, `table2-measured-20.toml`).
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from experiments import lines
from experiments.command import make_app
from experiments.comparison import SIZES, word_of
from experiments.paper import METRICS
from experiments.tasks import CHOOSER, EVEN, MEASURED, PERSON, PRESET_METRIC

EXPERIMENT = "table2-rehearsal"
SETTINGS = "table2-rehearsal-gain"
"""The rehearsal of settings."""
BLOCKS = "table2-rehearsal-blocks"
"""The rehearsal of wider tables."""
app = make_app(__doc__)

Values = dict[int, dict[str, float]]
"""Metrics of each seed."""


class By(StrEnum):
    """What the ways that are compared differ in."""

    METRIC = "metric"
    SETTINGS = "settings"


TODAY = {By.METRIC: PRESET_METRIC, By.SETTINGS: "both@50, gain +0.00, chooser short"}
"""What the others are compared with where nothing else is said."""


@app.command()
def draw(
    experiment: Annotated[str, typer.Option(help="Name of the lines.")] = EXPERIMENT,
    against: Annotated[
        str, typer.Option(help="What the others are compared with, as the table names it.")
    ] = "",
    by: Annotated[By, typer.Option(help="What the others differ in.")] = By.METRIC,
) -> None:
    """Print what other ways to choose than one, by Recall@50 by default, brought."""
    print(table(experiment=experiment, against=against, by=by))


def table(
    results: Path | None = None,
    *,
    experiment: str = EXPERIMENT,
    against: str = "",
    by: By = By.METRIC,
) -> str:
    """What each way to choose brings against another, as a Markdown table."""
    heads = [word_of(metric) for metric in METRICS]
    rows = [
        f"| chosen by | data set | {' | '.join(heads)} | mean | seeds |",
        "|---|---|" + "---|" * (len(heads) + 2),
    ]
    found_lines = lines.read_from(results or lines.RESULTS, experiment)
    gains = gains_of(found_lines, against or TODAY[by], by)
    every = defaultdict[str, list[float]](list)
    for (way, dataset), (found, n_seeds) in gains.items():
        cells = [" ".join(f"{100 * gain:+.1f}" for gain in found[metric]) for metric in METRICS]
        whole = mean(gain for metric in METRICS for gain in found[metric])
        every[way].append(whole)
        rows.append(
            f"| {word_of(way)} | {dataset} | {' | '.join(cells)} | {whole:+.2%} | {n_seeds} |"
        )
    for way, wholes in every.items():
        empty = " | ".join("–" for _ in METRICS)
        rows.append(f"| {word_of(way)} | all | {empty} | **{mean(wholes):+.2%}** | |")
    return "\n".join(rows)


def gains_of(
    found: list[dict[str, Any]], against: str = PRESET_METRIC, by: By = By.METRIC
) -> dict[tuple[str, str], tuple[dict[str, list[float]], int]]:
    """By way to choose and data set: each metric's gain over choosing another way, as a share.

    Gains stand size by size, over the seeds that both have, and how many these are stands beside.
    """
    cells = defaultdict[tuple[str, str, float], Values](dict)
    found = [line for line in found if line["person"] == PERSON]
    for line in found:
        way = _chosen_by(line) if by is By.METRIC else _settings(line, found)
        cells[line["dataset"], way, float(line["nominal_mb"])][line["seed"]] = line["metrics"]
    out = {}
    for dataset, way in sorted({(d, way) for d, way, _ in cells if way != against}):
        gains, fewest = defaultdict[str, list[float]](list), None
        for mb in SIZES:
            one, usual = (cells.get((dataset, x, float(mb)), {}) for x in (way, against))
            shared = one.keys() & usual.keys()
            if not shared:
                continue
            fewest = len(shared) if fewest is None else min(fewest, len(shared))
            for metric in METRICS:
                a, b = (mean(each[seed][metric] for seed in shared) for each in (one, usual))
                gains[metric].append(a / b - 1)
        if fewest is not None:
            out[way, dataset] = dict(gains), fewest
    return out


def _chosen_by(line: dict[str, Any]) -> str:
    """The metric that weights and compositions of a line were chosen by."""
    return str(line["config"].get("chosen_by", PRESET_METRIC))


def _settings(line: dict[str, Any], found: list[dict[str, Any]]) -> str:
    """What a line's two trainings and its choice were told, gains above its data set's least."""
    gain = line["config"]["settings"]["popularity_gain"]
    least = min(
        other["config"]["settings"]["popularity_gain"]
        for other in found
        if other["dataset"] == line["dataset"]
    )
    chooser = "short" if CHOOSER in line["config"]["settings"] else "long"
    even = line["config"]["settings"].get(EVEN)
    weighed = "" if even is None else f", even {even:g}"
    blocks = line["config"]["settings"].get("n_blocks")
    wide = "" if blocks is None else f", {blocks} blocks"
    by = ", measured" if line["config"]["settings"].get(MEASURED) else ""
    return f"{_chosen_by(line)}, gain {gain - least:+.2f}, chooser {chooser}{weighed}{wide}{by}"


if __name__ == "__main__":
    app()
