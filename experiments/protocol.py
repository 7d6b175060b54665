"""The protocol: what is frozen when, what each method had, and where numbers were measured.

A release reads test once. Its lines name one commit, which froze the recipe, and the time at which
each was measured; `frozen` says what a test of the repository holds them to.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from datetime import datetime
from typing import Any

from experiments import default, equal_bytes, lines, tables
from experiments.provenance import ROOT

USED = ("seconds", "watts", "watt_hours")
RELEASED = (default.EXPERIMENT, equal_bytes.EXPERIMENT)
"""Experiments whose test lines are those of the release."""


def test_lines() -> list[lines.Line]:
    """Every line of the present code that was measured on test."""
    return [x for name in RELEASED for x in lines.latest(name) if x["part"] == "test"]


def commits() -> list[str]:
    """The commits that test lines name; one, if the recipe was frozen."""
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
