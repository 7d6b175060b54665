"""The appendix's hyperparameters as a search by grid, on validation, resumable.

    python -m experiments.grid run --dataset amazon-book --gpu --jobs 8
    python -m experiments.grid run --dataset yelp2018 --gpu --product   # all 312,500 points
    python -m experiments.grid run --smoke
    python -m experiments.grid draw

Intervals as printed: L, (N, d), G, λ, d0, P, C and S. By default one hyperparameter is varied at a
time from the printed values, 32 points with them; `--product` takes all combinations. Recall@100
on validation at 10 MB, from the paper's method as printed. Points that share a training are
measured together, points that share compositions and estimator too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from elasticrec.presets import preset
from experiments import lines, study, study_command
from experiments.command import datasets_in, make_app
from experiments.jobs import run_all
from experiments.plans import PAPERS
from experiments.provenance import ROOT
from experiments.study import StudyTask, Variant

NAME = "grid"
SIZE = 10
METRIC = "recall@100"
INTERVALS: dict[str, tuple[Any, ...]] = {
    "L": (1, 2, 3, 4, 5),
    "N": (4, 8, 12, 16, 20),
    "G": (5, 10, 15, 20, 50),
    "λ": (0.0, 1e-2, 1e-4, 1e-6),
    "d0": (8, 16, 32, 64, 128),
    "P": (10, 20, 30, 40, 50),
    "C": (10, 20, 30, 40, 50),
    "S": (2, 5, 10, 15, 20),
}
"""The appendix's table; d = 8 in all of its pairs (N, d)."""
app = make_app(__doc__)

Point = dict[str, Any]


def printed(dataset: str) -> Point:
    """The values the appendix prints as the best; those of Yelp2020 for Yelp2018."""
    p = preset(PAPERS.get(dataset, "paper-amazon-book"))
    return {
        "L": p.train.layers,
        "N": p.train.n_blocks,
        "G": p.space.n_groups,
        "λ": p.train.diversity,
        "d0": p.estimator.widths[0],
        "P": p.search.population,
        "C": p.search.rounds,
        "S": p.search.tournament,
    }


def points(dataset: str, whole: bool = False) -> Iterator[Point]:
    """The printed point, then all that differ from it in one value; or the whole product."""
    start = printed(dataset)
    if whole:
        for values in product(*INTERVALS.values()):
            yield dict(zip(INTERVALS, values, strict=True))
        return
    yield start
    for name, values in INTERVALS.items():
        yield from ({**start, name: value} for value in values if value != start[name])


def variant(point: Point) -> Variant:
    """The variant of the paper's method that a point is."""
    return Variant(
        ", ".join(f"{name}={value:g}" for name, value in point.items()),
        train={"layers": point["L"], "n_blocks": point["N"], "diversity": point["λ"]},
        space={"n_groups": point["G"]},
        estimator={"widths": (point["d0"],)},
        search={"population": point["P"], "rounds": point["C"], "tournament": point["S"]},
    )


@app.command()
def run(
    dataset: study_command.Datasets = "amazon-book,yelp2018",
    data: Path = ROOT / "local",
    whole: Annotated[bool, typer.Option("--product", help="All combinations.")] = False,
    seeds: study_command.Seeds = 1,
    samples: study_command.Samples = 3_000,
    gpu: study_command.Gpu = False,
    jobs: study_command.Jobs = 1,
    threads: study_command.Threads = 1,
    minutes: study_command.Minutes = None,
    smoke: study_command.Smoke = False,
) -> None:
    """Measure every point that has no line yet."""
    if smoke:
        print(run_smoke())
        return
    session = study_command.session_for(data, seeds, gpu, threads, samples)
    todo = [
        task
        for name in datasets_in(data, dataset)
        for task in study.tasks(
            NAME, session, name,
            {"rule-printed": [variant(point) for point in points(name, whole)]},
            (SIZE,), "validation",
        )
    ]  # fmt: skip
    limit = None if minutes is None else 60 * minutes
    run_all(todo, work, jobs=jobs, threads=threads, seconds=limit)


def work(task: StudyTask) -> str:
    """Measure a task's points, append their lines, and say them in short."""
    return f"{task.start}: " + ", ".join(study.record(task, x) for x in study.studied(task))


def run_smoke() -> str:
    """The table of a tiny made world and a corner of the grid; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session = study_command.smoke_session(Path(place))
        start = printed("goodbooks") | {"N": 4, "G": 5, "d0": 8, "P": 10, "C": 10}
        few = [start, start | {"S": 2}, start | {"G": 10}, start | {"L": 1}]
        chosen = {"rule-printed": [variant(point) for point in few]}
        run_all(study.tasks(NAME, session, "goodbooks", chosen, (SIZE,), "validation"), work)
        return table(session.results)


def measured(results: Path | None = None) -> dict[str, list[tuple[Point, float]]]:
    """By data set: every point and its mean on validation."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines.read_from(results or lines.RESULTS, NAME):
        each = found.setdefault(line["dataset"], {})
        each.setdefault(line["variant"], []).append(line["metrics"][METRIC])
    return {
        dataset: [
            (dict(word.split("=") for word in name.split(", ")), sum(values) / len(values))
            for name, values in each.items()
        ]
        for dataset, each in found.items()
    }


def table(results: Path | None = None) -> str:
    """Of every hyperparameter the printed value, the best here and all others, in Markdown.

    Where several are equal in four digits, the printed one counts as the best.
    """
    rows = [
        f"| data set | hyperparameter | printed | {METRIC} | best here | {METRIC} | all values |",
        "|---|---|---|---|---|---|---|",
    ]
    for dataset, found in measured(results).items():
        start = {name: f"{value:g}" for name, value in printed(dataset).items()}
        if not any(point == start for point, _ in found):
            start = found[0][0]
        for name in INTERVALS:
            values = {
                point[name]: v for point, v in found if {**point, name: ""} == {**start, name: ""}
            }
            mine = start[name]
            best = max(values, key=lambda value: (round(values[value], 4), value == mine))
            each = ", ".join(f"{value}: {values[value]:.4f}" for value in sorted(values, key=float))
            rows.append(
                f"| {dataset} | {name} | {mine} | {values[mine]:.4f} "
                f"| {best} | {values[best]:.4f} | {each} |"
            )
    return "\n".join(rows)


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(table())


if __name__ == "__main__":
    app()
