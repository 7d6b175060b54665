"""Releases: what froze the present one, where its numbers come from, and the ones before it.

    python -m experiments.releases draw
    python -m experiments.releases retire

A release reads test once, after one commit froze its recipe: `FROZEN`. Its test lines name that
commit and were measured later; a test of the repository checks both. To freeze anew: `retire`,
which moves the test lines of `FROZEN` out of the way and keeps their means; then name the commit,
and in `REMARKS` what must be said of that release alone.

Of the first release `results/first-release.jsonl` holds the lines of trained rivals, with settings
and code of then; sizes are Amazon-Book's megabytes, Gowalla has as many bytes per item, Yelp2018
those of the paper's Yelp2020. The paper's own table stands beside them.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from elasticrec.errors import InputError
from experiments import default, equal_bytes, lines, tables, verdicts
from experiments.baselines import BASELINES
from experiments.command import make_app
from experiments.provenance import ROOT

FROZEN = "20571c7e94f1"
"""The commit that froze the recipe of the present release."""
REMARKS: tuple[str, ...] = (
    "The table of the release before was known when the gain of a column, groups that lead step\n"
    "  by step, and training through the codes were added. All three were decided on validation.",
)
"""What a reader must know of this release alone."""
FORMER = "former-releases"
"""Means of the test lines of releases that were retired."""
FIRST = "first-release"
PRINTED = Path(__file__).parent / "paper_table2.json"
SIZES = (1, 2, 5, 10, 25)
METHODS = (*BASELINES, "faiss-pq", "itemcf", "sparse-linear")
PRINTED_SIZES = (5, 10, 25)
PAPER_METRICS = ("recall@50", "recall@100")
SLIPS = {
    ("yelp2020", "pmf", "10", "recall@50"),
    ("yelp2020", "pmf", "25", "recall@50"),
    ("yelp2020", "autoemb", "10", "recall@50"),
}
"""Cells that are ten times too high by every other number around them."""
RELEASED = (default.EXPERIMENT, equal_bytes.EXPERIMENT)
"""Experiments whose test lines are those of the release."""
DERIVED = (equal_bytes.TUNING, "table2-tests", "table2-runs")
"""Experiments whose lines go with those."""
Cells = dict[str, dict[str, float]]
"""A row's values by size and metric."""
USED = ("seconds", "watts", "watt_hours")


def test_lines() -> list[lines.Line]:
    """Every line of the present code that was measured on test."""
    return [x for name in RELEASED for x in lines.latest(name) if x["part"] == "test"]


def commits() -> list[str]:
    """The commits that test lines name: `FROZEN` alone, or none yet."""
    return sorted({line["commit"] for line in test_lines()})


def committed_at(commit: str) -> datetime:
    """When a commit was made."""
    return datetime.fromisoformat(_git("show", "-s", "--format=%cI", commit))


def is_ancestor(commit: str) -> bool:
    """True if the present state descends from a commit."""
    command = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def knows(commit: str) -> bool:
    """True if the repository's history holds a commit."""
    command = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def lines_at(commit: str, experiment: str) -> str:
    """The text of an experiment's lines as a commit holds it; empty where there was none."""
    command = ["git", "show", f"{commit}:experiments/results/{experiment}.jsonl"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout


def trials() -> str:
    """How many settings each method was tried with, by data set."""
    found = lines.latest(equal_bytes.TUNING)
    names = tables.datasets(found)
    rows = []
    for method in dict.fromkeys(line["method"] for line in found):
        row = []
        for dataset in names:
            mine = [x for x in found if lines.holds([x], dataset=dataset, method=method)]
            counts = [line["config"].get("trials", 0) for line in mine]
            once = method in equal_bytes.UNTRAINED  # one set of trials serves all sizes
            row.append(str(max(counts) if once else sum(counts)) if counts else tables.EMPTY)
        rows.append([method, *row])
    ours = []
    for dataset in names:
        mine = [x for x in lines.latest(default.EXPERIMENT)
                if x["dataset"] == dataset and x.get("chosen")]  # fmt: skip
        count = max((sum(len(c["lead_percent"]) for c in x["chosen"]) for x in mine), default=0)
        ours.append(str(count) if count else tables.EMPTY)
    return tables.table(["method", *map(tables.title, names)], [["ours", *ours], *rows])


def where() -> str:
    """Machines, lines, seeds and seconds of the test lines, by experiment."""
    rows = []
    for name in RELEASED:
        found = [line for line in test_lines() if line["experiment"] == name]
        for machine, count in Counter(line["machine"] for line in found).items():
            here = [line for line in found if line["machine"] == machine]
            seeds = ", ".join(map(str, sorted({line["seed"] for line in here})))
            seconds = sum(_seconds(line) for line in here)
            rows.append([name, machine, str(count), seeds, f"{seconds:,.0f}"])
    return tables.table(["experiment", "machine", "lines", "seeds", "seconds"], rows)


def runs() -> str:
    """Seconds and energy of the runs that measured test, as far as they could be read."""
    found = [line for line in lines.every("table2-runs") if line["part"] == "test"]
    rows = []
    for line in found:
        used = line["metrics"]
        row = [f"{used[name]:g}" if name in used else tables.EMPTY for name in USED]
        rows.append([line["machine"], str(line["jobs"]), *row])
    return tables.table(["machine", "side by side", "seconds", "mean watts", "watt-hours"], rows)


def _seconds(line: dict[str, Any]) -> float:
    """A line's own seconds; of ours those of the whole fit, which stand at its first size."""
    if line["experiment"] == default.EXPERIMENT:
        return float(sum((line.get("stages") or {}).values()))
    return float(line.get("seconds", 0.0))


def _git(*arguments: str) -> str:
    answer = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


@lru_cache(maxsize=1)
def printed() -> dict[tuple[str, str], Cells]:
    """The paper's table, by data set and method."""
    rows = json.loads(PRINTED.read_text(encoding="utf-8"))
    return {(row["dataset"], row["method"]): row["cells"] for row in rows}


def first_rivals(metric: str = "recall@50") -> str:
    """The rivals' means over seeds ± deviation, by data set, method and size."""
    found, rows = lines.read(FIRST), []
    for dataset in tables.datasets(found):
        for method in METHODS:
            for loss in BASELINES[method].losses if method == "pmf" else ("",):
                mine = [
                    x for x in found
                    if lines.holds([x], dataset=dataset, method=method) and loss in ("", x["loss"])
                ]  # fmt: skip
                by_size = {mb: [x for x in mine if x["nominal_mb"] == mb] for mb in SIZES}
                shown = [tables.shown(by_size[mb], metric) for mb in SIZES]
                if mine:
                    name = method + {"paper": ", its loss", "ours": ", our loss"}.get(loss, "")
                    rows.append([tables.title(dataset), name, mine[0]["person"], *shown])
    return tables.table(["data set", "method", "known of a user", *map(str, SIZES)], rows)


def paper() -> str:
    """Recall as the paper prints it, slips marked."""
    rows = []
    for (dataset, method), cells in printed().items():
        values = [
            f"{cells[str(mb)][metric]:.4f}"
            + ("*" if (dataset, method, str(mb), metric) in SLIPS else "")
            for metric in PAPER_METRICS
            for mb in PRINTED_SIZES
        ]
        rows.append([dataset, method, *values])
    heads = [f"{metric} {mb}" for metric in PAPER_METRICS for mb in PRINTED_SIZES]
    return tables.table(["data set", "method", *heads], rows)


app = make_app(__doc__)


@app.command()
def retire() -> None:
    """Keep the means of the present release's test lines, and take these out of the way."""
    if others := set(commits()) - {FROZEN}:
        raise InputError(f"test lines name {min(others)}, expected {FROZEN} alone")
    kept = [lines.append(FORMER, fields) for fields in _means()]
    gone = sum(
        lines.remove(name, lambda line: line.get("part") == "test")
        for name in (*RELEASED, *DERIVED)
    )
    print(f"{gone} lines of {FROZEN} retired, {len(kept)} means kept in {FORMER}.jsonl")


def _means() -> Iterator[lines.Line]:
    """Of each method and size on test: means over seeds, and their deviations."""
    for name in RELEASED:
        found = [x for x in lines.latest(name) if x["part"] == "test" and x["commit"] == FROZEN]
        cells: dict[tuple[Any, ...], list[lines.Line]] = {}
        for line in found:
            fields = ("dataset", "split", "method", "person", "bytes_per_item")
            cells.setdefault(tuple(line[field] for field in fields), []).append(line)
        for (dataset, split, method, person, size), cell in cells.items():
            values = {m: [x["metrics"][m] for x in cell] for m in verdicts.METRICS}
            yield {
                "dataset": dataset, "split": split, "method": method, "person": person,
                "bytes_per_item": size, "part": "test", "frozen": FROZEN,
                "code_hash": cell[0].get("code_hash"), "seeds": len(cell),
                "metrics": {m: round(mean(each), 5) for m, each in values.items()},
                "deviation": {m: round(stdev(each), 5) for m, each in values.items()
                              if len(each) > 1},
            }  # fmt: skip


def former(metric: str = "recall@50") -> str:
    """Test of the releases that were retired, the newest first: means over seeds."""
    found = lines.read(FORMER)
    parts = []
    for frozen in reversed(dict.fromkeys(line["frozen"] for line in found)):
        here, rows = [x for x in found if x["frozen"] == frozen], []
        sizes = sorted({float(line["bytes_per_item"]) for line in here})
        for dataset in tables.datasets(here):
            for method in dict.fromkeys(x["method"] for x in here if x["dataset"] == dataset):
                cells = tables.cells(here, dataset=dataset, method=method)
                shown = [f"{cells[size][0]['metrics'][metric]:.4f}" if size in cells
                         else tables.EMPTY for size in sizes]  # fmt: skip
                seeds = max(cell[0]["seeds"] for cell in cells.values())
                rows.append([tables.title(dataset), method, str(seeds), *shown])
        head = ["data set", "method", "seeds", *(f"{size:g}" for size in sizes)]
        parts.append(f"## Frozen by `{frozen}`\n\n{tables.table(head, rows)}")
    return "\n".join(parts)


@app.command()
def draw() -> None:
    """Print the tables of the releases before, and the paper's."""
    print(former())
    print(first_rivals())
    print(paper())


if __name__ == "__main__":
    app()
