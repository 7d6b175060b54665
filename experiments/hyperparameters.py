"""How many groups, how many blocks: NDCG@50 at 10 MB for G in 5 … 50 and N in 4 … 20 (d = 8).

    python -m experiments.hyperparameters run --dataset amazon-book,yelp2018 --gpu --jobs 8
    python -m experiments.hyperparameters run --smoke
    python -m experiments.hyperparameters draw

One of the two is varied, the other stays at the paper's value (G = 20, N = 16).
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from experiments import figures, study, study_command
from experiments.command import make_app
from experiments.figures import Curve
from experiments.jobs import run_all
from experiments.study import StudyTask, Variant

NAME = "hyperparameters"
SIZE = 10
GROUPS, BLOCKS = (5, 10, 15, 20, 50), (4, 8, 12, 16, 20)
COLOURS = {"rule-printed": figures.PAPER, "rule-aligned": "#b08ac4", "ours": figures.OURS}
app = make_app(__doc__)


def variants(groups: tuple[int, ...] = GROUPS, blocks: tuple[int, ...] = BLOCKS) -> list[Variant]:
    """Each value of G, then each of N; both have the paper's value for the other."""
    by_groups = [Variant(f"G={g}", train={"n_blocks": 16}, space={"n_groups": g}) for g in groups]
    by_blocks = [Variant(f"N={n}", train={"n_blocks": n}, space={"n_groups": 20}) for n in blocks]
    return [*by_groups, *(each for each in by_blocks if each.name != "N=16")]


def work(task: StudyTask) -> str:
    """Measure a task's variants, append their lines, and say them in short."""
    return f"{task}: " + ", ".join(study.record(task, each) for each in study.studied(task))


def run_smoke() -> str:
    """The table of a tiny made world; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session = study_command.smoke_session(Path(place))
        few = [Variant(f"G={g}", space={"n_groups": g}) for g in (5, 10)]
        few += [Variant("N=2", train={"n_blocks": 2}, space={"n_groups": 5})]
        run_all(study.tasks(NAME, session, "goodbooks", {"rule-printed": few}, (SIZE,)), work)
        return table(session.results)


study_command.add_run(
    app, NAME, "amazon-book,yelp2018", lambda _: variants(), (SIZE,), work, run_smoke
)


def measured(
    results: Path | None = None, metric: str = "ndcg@50"
) -> dict[tuple[str, str], dict[str, float]]:
    """The mean over seeds by data set and start, then by `G=…` or `N=…`; newest settings count."""
    values: Any = defaultdict(lambda: defaultdict(list))
    for x in study.newest(results, NAME):
        values[x["dataset"], x["method"]][x["variant"]].append(x["metrics"][metric])
    out = {}
    for key, named in values.items():
        out[key] = {name: mean(each) for name, each in named.items()}
        if "G=20" in out[key]:
            out[key]["N=16"] = out[key]["G=20"]  # the same measurement
    return out


def table(results: Path | None = None) -> str:
    """NDCG@50 of every value, as a Markdown table."""
    found = measured(results)
    names = [f"G={g}" for g in GROUPS] + [f"N={n}" for n in BLOCKS]
    rows = ["| data set | start | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for (dataset, start), values in sorted(found.items()):
        cells = [f"{values[name]:.4f}" if name in values else "–" for name in names]
        rows.append(f"| {dataset} | {start} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def claims() -> dict[str, list[tuple[str, str, bool]]]:
    """By claim: data set, start and whether it held there."""
    out: dict[str, list[tuple[str, str, bool]]] = {"G": [], "N": []}
    for (dataset, start), values in sorted(measured().items()):
        if all(f"G={g}" in values for g in GROUPS):
            best = max(GROUPS, key=lambda g: values[f"G={g}"])
            out["G"].append((dataset, start, 10 <= best <= 20))
        if all(f"N={n}" in values for n in BLOCKS):
            rising = values["N=16"] - values["N=4"]
            last = abs(values["N=20"] - values["N=16"])
            out["N"].append((dataset, start, rising > 0 and last < 0.1 * rising))
    return out


@app.command()
def draw() -> None:
    """Print the table and write docs/figures/hyperparameters.svg."""
    print(table())
    draw_figure()


def draw_figure() -> bool:
    """Whether there was anything to draw: a panel for G and one for N of each data set."""
    found = measured()
    if not found:
        print("nothing measured yet")
        return False
    datasets = sorted({dataset for dataset, _ in found})
    with figures.panels(NAME, 2, len(datasets), width=4.0, height=2.6) as axes:
        for row, dataset in zip(axes, datasets, strict=True):
            for axis, (letter, values) in zip(row, (("G", GROUPS), ("N", BLOCKS)), strict=True):
                shown = [
                    Curve(
                        start,
                        {x: each[f"{letter}={x}"] for x in values if f"{letter}={x}" in each},
                        COLOURS[start],
                        bold=start == "ours",
                    )
                    for (where, start), each in found.items()
                    if where == dataset
                ]
                figures.curves(axis, shown)
                axis.set_xticks(values)
                axis.set_xlabel(letter)
                axis.set_ylabel("NDCG@50")
                axis.set_title(f"{dataset}, {SIZE} MB", loc="left", fontweight="bold")
    return True


if __name__ == "__main__":
    app()
