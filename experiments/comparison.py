"""What the lines of Table 2 say: rows, leads of ours over the best rivals, seconds.

Nothing here measures; all of it reads `table2.jsonl` and `table2-tests.jsonl`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, mode
from typing import Any

from experiments import lines
from experiments.equal_bytes import PRINTED, SMALL
from experiments.tasks import NEIGHBOURS_ALONE, ONCE, OURS, PRESET_METRIC, chosen_by

SIZES = (*SMALL, *PRINTED)
ORDER = (
    *(OURS, "rule-printed", "rule-aligned", "pmf", "pmf-int8", "lightgcn", "lightgcn-int8"),
    *("dlrm-ce", "lightrec", "esapn", "autoemb", "matryoshka", "pruning", "faiss-pq"),
    *NEIGHBOURS_ALONE,
)


@dataclass(frozen=True, order=True)
class Row:
    """One row of the table."""

    place: int
    method: str
    loss: str
    """`paper` or `ours` where both have a row, else empty."""
    person: str
    by: str = ""
    """Of ours: what it was told to choose by; empty in its main row."""

    def __str__(self) -> str:
        whose = {"paper": ", the paper's loss", "ours": ", our loss"}.get(self.loss, "")
        by = f", by {word_of(self.by)}" if self.by else ""
        alone = ", history alone" if self.method == OURS and self.person == "history" else ""
        return self.method + whose + by + alone

    @property
    def dense(self) -> bool:
        """Whether it is a rival with vectors."""
        return self.method not in (OURS, *NEIGHBOURS_ALONE)


@dataclass(frozen=True)
class Lead:
    """Ours beside a rival at one size."""

    mb: float
    rival: Row
    ours: float
    theirs: float
    p: float | None
    """Of the paired t-test over users; None where it was not made."""

    @property
    def better(self) -> float:
        """By how much ours is better, as a share of the rival."""
        return self.ours / self.theirs - 1


@dataclass
class Measurements:
    """Table 2's lines, by data set, row and size; of a row the newest settings count."""

    results: Path
    cells: dict[tuple[str, Row, float], list[dict[str, Any]]] = field(default_factory=dict)
    tests: dict[tuple[str, str, str, float, str], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = [x for x in lines.read_from(self.results, "table2") if x.get("part") == "test"]
        newest = {(x["dataset"], row_of(x)): x["config_hash"] for x in found}
        self.cells = defaultdict(list)
        for line in found:
            row = row_of(line)
            if newest[line["dataset"], row] == line["config_hash"]:
                self.cells[line["dataset"], row, float(line["nominal_mb"])].append(line)
        tests = lines.read_from(self.results, "table2-tests")
        for test in sorted(tests, key=lambda test: int(test["config"]["seeds"])):  # most seeds last
            hashes = test["config"]["ours"], test["config"]["rival"]
            self.tests[test["dataset"], *hashes, float(test["nominal_mb"]), test["metric"]] = test

    @property
    def datasets(self) -> list[str]:
        """The data sets measured, the paper's first."""
        known = {dataset for dataset, _, _ in self.cells}
        order = ("amazon-book", "yelp2018", "gowalla", "goodbooks")
        return [each for each in order if each in known] + sorted(known - set(order))

    def rows(self, dataset: str) -> list[Row]:
        """The rows of a data set in the table's order."""
        return sorted({row for each, row, _ in self.cells if each == dataset})

    def value(self, dataset: str, row: Row, mb: float, metric: str = "recall@50") -> float | None:
        """A metric's mean over seeds, or None."""
        found = self.cells.get((dataset, row, float(mb)))
        return mean(x["metrics"][metric] for x in found) if found else None

    def shown(self, dataset: str, row: Row, mb: float, metric: str) -> str:
        """A metric's mean ± deviation over seeds, or a dash."""
        found = self.cells.get((dataset, row, float(mb)))
        return lines.mean_and_deviation(found, metric) if found else "–"

    def ours(self, dataset: str) -> Row | None:
        """Our main row: with a vector where there is one."""
        mine = [row for row in self.rows(dataset) if row.method == OURS and not row.by]
        return max(mine, key=lambda row: row.person == "vector+history") if mine else None

    def leads(self, dataset: str, *, dense: bool, metric: str = "recall@50") -> list[Lead]:
        """Ours against the best dense rival, or the best of neighbours alone, at each size."""
        ours, out = self.ours(dataset), []
        for mb in SIZES if ours else ():
            mine = self.value(dataset, ours, mb, metric)  # type: ignore[arg-type]
            rivals = {
                row: value
                for row in self.rows(dataset)
                if row.method != OURS and row.dense == dense
                and (value := self.value(dataset, row, mb, metric)) is not None
            }  # fmt: skip
            if mine is None or not rivals:
                continue
            best = max(rivals, key=rivals.__getitem__)
            out.append(Lead(mb, best, mine, rivals[best], self._p(dataset, best, mb, metric)))
        return out

    def _p(self, dataset: str, rival: Row, mb: float, metric: str) -> float | None:
        ours = self.ours(dataset)
        if ours is None:
            return None
        mine, theirs = (self.cells.get((dataset, row, float(mb))) for row in (ours, rival))
        if not mine or not theirs:
            return None
        hashes = mine[0]["config_hash"], theirs[0]["config_hash"]
        test = self.tests.get((dataset, *hashes, float(mb), metric))
        return None if test is None else float(test["metrics"]["p"])

    def seconds(self, dataset: str, row: Row) -> tuple[float, float, float] | None:
        """Seconds once, per size, and for the paper's three sizes together, on its machine."""
        where = self.machine(dataset, row)
        found = [
            [x for x in self.cells.get((dataset, row, float(mb)), []) if x["machine"] == where]
            for mb in PRINTED
        ]
        if not all(found):
            return None
        each = [mean(x["seconds"] for x in some) for some in found]
        once = mean(x.get("once_seconds") or 0.0 for some in found for x in some)
        if row.method in ONCE:
            return max(each), 0.0, max(each)
        return once, mean(each), once + sum(each)

    def machine(self, dataset: str, row: Row) -> str:
        """Where most of a row's lines were measured."""
        found = [x for mb in SIZES for x in self.cells.get((dataset, row, float(mb)), [])]
        return str(mode(x["machine"] for x in found)) if found else ""


def row_of(line: dict[str, Any]) -> Row:
    """The row that a line belongs to."""
    method = line["method"]
    place = ORDER.index(method) if method in ORDER else len(ORDER)
    loss = line["loss"] if method == "pmf" else ""
    by = line["config"].get("chosen_by", PRESET_METRIC) if method == OURS else ""
    return Row(place, method, loss, line["person"], "" if by == chosen_by(line["dataset"]) else by)


def word_of(metric: str) -> str:
    """A metric as a reader writes it: `NDCG@50` for `ndcg@50`."""
    name, _, k = metric.partition("@")
    word = {"ndcg": "NDCG", "recall": "Recall"}.get(name, name)
    return f"{word}@{k}"
