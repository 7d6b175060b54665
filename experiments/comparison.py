"""What the lines of Table 2 say: rows, leads of ours over the best rivals, seconds, the paper's.

Nothing here measures; all of it reads `table2.jsonl` and `table2-tests.jsonl`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from experiments import lines, paper
from experiments.equal_bytes import PRINTED, SMALL
from experiments.tasks import NEIGHBOURS_ALONE, ONCE, OURS

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
    """Of ours: what it was told to choose by; empty in its main row, which chose by Recall@50."""

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
    tests: dict[tuple[str, str, str, float], dict[str, Any]] = field(default_factory=dict)

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
            self.tests[test["dataset"], *hashes, float(test["nominal_mb"])] = test

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
            out.append(Lead(mb, best, mine, rivals[best], self._p(dataset, best, mb)))
        return out

    def _p(self, dataset: str, rival: Row, mb: float) -> float | None:
        ours = self.ours(dataset)
        if ours is None:
            return None
        mine, theirs = (self.cells.get((dataset, row, float(mb))) for row in (ours, rival))
        if not mine or not theirs:
            return None
        hashes = mine[0]["config_hash"], theirs[0]["config_hash"]
        test = self.tests.get((dataset, *hashes, float(mb)))
        return None if test is None else float(test["metrics"]["p"])

    def seconds(self, dataset: str, row: Row) -> tuple[float, float, float] | None:
        """Seconds once, seconds per size, and seconds for the paper's three sizes together."""
        found = [self.cells.get((dataset, row, float(mb)), []) for mb in PRINTED]
        if not all(found):
            return None
        each = [mean(x["seconds"] for x in some) for some in found]
        once = mean(x.get("once_seconds") or 0.0 for some in found for x in some)
        if row.method in ONCE:
            return max(each), 0.0, max(each)
        return once, mean(each), once + sum(each)

    def machine(self, dataset: str, row: Row) -> str:
        """Where a row's newest line was measured."""
        found = [x for mb in SIZES for x in self.cells.get((dataset, row, float(mb)), [])]
        return str(found[-1]["machine"]) if found else ""


def row_of(line: dict[str, Any]) -> Row:
    """The row that a line belongs to."""
    method = line["method"]
    place = ORDER.index(method) if method in ORDER else len(ORDER)
    loss = line["loss"] if method == "pmf" else ""
    return Row(place, method, loss, line["person"], line["config"].get("chosen_by", ""))


def table(found: Measurements, dataset: str, metrics: Iterable[str]) -> str:
    """Every method of a data set at every size, mean ± deviation over seeds; the best in bold."""
    heads = [f"{word_of(metric)}, {mb} MB" for metric in metrics for mb in SIZES]
    rows = [
        "| method | person | " + " | ".join(heads) + " |",
        "|---|---|" + "---|" * len(heads),
    ]
    columns = [(mb, metric) for metric in metrics for mb in SIZES]
    best = {c: max(found.value(dataset, r, *c) or 0 for r in found.rows(dataset)) for c in columns}
    for row in found.rows(dataset):
        cells = []
        for column in columns:
            shown = found.shown(dataset, row, *column)
            first = shown != "–" and found.value(dataset, row, *column) == best[column]
            cells.append(f"**{shown}**" if first else shown)
        rows.append(f"| {row} | {row.person} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def word_of(metric: str) -> str:
    """A metric as a reader writes it: `NDCG@50` for `ndcg@50`."""
    name, _, k = metric.partition("@")
    word = {"ndcg": "NDCG", "recall": "Recall"}.get(name, name)
    return f"{word}@{k}"


def leads_table(found: Measurements, dataset: str) -> str:
    """Ours against the best dense rival and the best of neighbours alone, at each size."""
    rows = [
        "| MB | ours | best rival | its Recall@50 | ours is | p |",
        "|---|---|---|---|---|---|",
    ]
    for dense in (True, False):
        for lead in found.leads(dataset, dense=dense):
            p = "–" if lead.p is None else f"{lead.p:.1g}"
            kind = "dense" if dense else "neighbours alone"
            rows.append(
                f"| {lead.mb:g} | {lead.ours:.4f} | {lead.rival} ({kind}) | {lead.theirs:.4f} "
                f"| {lead.better:+.1%} | {p} |"
            )
    return "\n".join(rows)


def seconds_table(found: Measurements, dataset: str) -> str:
    """What three sizes take: once, each, and together; and from how many on ours is faster."""
    rows = [
        "| method | once, s | each size, s | three sizes, s | ours is faster from | machine |",
        "|---|---|---|---|---|---|",
    ]
    ours = found.ours(dataset)
    mine = found.seconds(dataset, ours) if ours else None
    for row in found.rows(dataset):
        taken, machine = found.seconds(dataset, row), found.machine(dataset, row)
        if not taken or (row.method == OURS and row != ours):
            continue
        faster = "–"
        if mine and ours and found.machine(dataset, ours) == machine and taken[1] > mine[1]:
            # The least n with once + n · each below theirs; those who train once have no each.
            n = max(1, int((mine[0] - taken[0]) // (taken[1] - mine[1])) + 1)
            faster = f"{n} sizes" if n > 1 else "1 size"
        shown = " | ".join(f"{value:.1f}" for value in taken)
        rows.append(f"| {row} | {shown} | {faster} | {machine} |")
    return "\n".join(rows)


def beside_the_paper(found: Measurements, dataset: str) -> str:
    """The paper's Recall@50 and @100 beside ours, at its sizes; slips of its print are marked."""
    heads = [f"{word_of(m)}, {mb} MB" for m in ("recall@50", "recall@100") for mb in PRINTED]
    rows = ["| method | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for row in found.rows(dataset):
        cells = []
        for metric in ("recall@50", "recall@100"):
            for mb in PRINTED:
                here = found.value(dataset, row, mb, metric)
                there = paper.printed(dataset, row.method, mb, metric)
                slip = (paper.STAND_INS.get(dataset), row.method, str(mb), metric) in paper.SLIPS
                said = "–" if there is None else f"{there:.4f}{' (slip)' * slip}"
                cells.append(f"{said} / {'–' if here is None else f'{here:.4f}'}")
        if any(not cell.startswith("–") for cell in cells):
            rows.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def tables(results: Path) -> str:
    """All tables of Table 2, in Markdown."""
    found, parts = Measurements(results), []
    for dataset in found.datasets:
        parts += [f"### {dataset}", ""]
        for metrics in (["recall@50"], ["recall@100"], ["ndcg@50"], ["ndcg@100"]):
            parts += [table(found, dataset, metrics), ""]
        parts += [leads_table(found, dataset), "", seconds_table(found, dataset), ""]
        if dataset in paper.STAND_INS:
            parts += [beside_the_paper(found, dataset), ""]
    return "\n".join(parts)
