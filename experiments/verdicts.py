"""Verdicts of Table 2: leads, and two tests that both must agree before a lead is called sure.

One test is of seeds (Welch; a method without seeds is a fixed number), one of users (paired). Each
is corrected by Holm for all cells of a table, which is one data set and one metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import mean, stdev

from experiments import default, lines, tables
from experiments.comparing import ALPHA, holm, welch
from experiments.equal_bytes import BASE, UNTRAINED

OURS, EXPERIMENT = default.METHOD, "table2"
METRICS = ("recall@50", "ndcg@50")


@dataclass(frozen=True)
class Cell:
    """Ours against one rival at one size."""

    dataset: str
    metric: str
    size: float
    """Bytes per item."""
    method: str
    ours: tuple[float, ...]
    """By seed."""
    theirs: tuple[float, ...]
    p_seeds: float | None
    """By Holm; None where there are too few seeds."""
    p_users: float | None
    """By Holm; None where it was not tested."""

    @property
    def lead(self) -> float:
        """By how much ours is better, as a share of theirs."""
        return mean(self.ours) / mean(self.theirs) - 1

    @property
    def is_sure(self) -> bool:
        """True if both tests agree that the two differ."""
        tests = self.p_seeds, self.p_users
        return all(p is not None and p < ALPHA for p in tests)

    @property
    def shown(self) -> str:
        """The lead, bold where it is sure."""
        text = f"{self.lead:+.1%}"
        return f"**{text}**" if self.is_sure else text


def measured(part: str) -> list[lines.Line]:
    """Ours and all other methods on a part."""
    found = [*lines.latest(default.EXPERIMENT), *lines.latest(EXPERIMENT)]
    return [line for line in found if line["part"] == part and line["person"] == "history"]


def best_part() -> str:
    """`test` where it was measured, else `validation`."""
    return "test" if measured("test") else "validation"


def methods_of(found: Sequence[lines.Line]) -> list[str]:
    """All methods but ours, in the order of their lines."""
    return list(dict.fromkeys(line["method"] for line in found if line["method"] != OURS))


def cells(dataset: str, metric: str, part: str) -> list[Cell]:
    """Ours against every other method at every size, both tests corrected for all of these."""
    found = [line for line in measured(part) if line["dataset"] == dataset]
    tests = {
        (x["against"], float(x["bytes_per_item"])): float(x["metrics"][f"{metric} p"])
        for x in lines.latest_tests(EXPERIMENT, dataset=dataset, part=part, method=OURS)
    }
    ours = tables.cells(found, method=OURS)
    raw: list[Cell] = []
    for method in methods_of(found):
        for size, theirs in tables.cells(found, method=method).items():
            if size in ours:
                a, b = (tuple(x["metrics"][metric] for x in side) for side in (ours[size], theirs))
                raw.append(Cell(dataset, metric, size, method, a, b, of_seeds(a, b),
                                tests.get((method, size))))  # fmt: skip
    by_seeds, by_users = ([getattr(cell, name) for cell in raw] for name in ("p_seeds", "p_users"))
    adjusted = zip(raw, _holm(by_seeds), _holm(by_users), strict=True)
    return [
        Cell(x.dataset, x.metric, x.size, x.method, x.ours, x.theirs, seeds, users)
        for x, seeds, users in adjusted
    ]


def of_seeds(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The two-sided p that seeds have the same mean; a single value is taken as fixed."""
    if len(ours) < 2:
        return None
    if len(theirs) > 1:
        return welch(ours, theirs)
    from scipy.special import stdtr

    error = stdev(ours) / sqrt(len(ours))
    difference = abs(mean(ours) - theirs[0])
    t = difference / error if error else inf if difference else 0.0
    return float(2 * stdtr(len(ours) - 1, -t)) if t < inf else 0.0


def _holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction of those values that there are."""
    known = [value for value in values if value is not None]
    adjusted = iter(holm(known))
    return [None if value is None else next(adjusted) for value in values]


def best(found: Sequence[Cell], size: float, methods: Sequence[str]) -> Cell | None:
    """The strongest of some methods at a size."""
    here = [cell for cell in found if cell.size == size and cell.method in methods]
    return max(here, key=lambda cell: mean(cell.theirs), default=None)


def whole_table(dataset: str, metric: str, part: str) -> str:
    """Every method at every size, mean ± deviation over seeds, and ours' lead over it."""
    found = [line for line in measured(part) if line["dataset"] == dataset]
    compared = {(cell.method, cell.size): cell for cell in cells(dataset, metric, part)}
    sizes = sorted({float(line["bytes_per_item"]) for line in found})
    rows = []
    for method in (OURS, *methods_of(found)):
        here, row = tables.cells(found, method=method), []
        for size in sizes:
            text = tables.shown(here.get(size, []), metric)
            cell = compared.get((method, size))
            row.append(f"{text} ({cell.shown})" if cell else text)
        rows.append([method, str(max(map(len, here.values()), default=0)), *row])
    return tables.table(["method", "seeds", *(f"{size:g}" for size in sizes)], rows)


ALIKE = "ours, all alike"
CLAIMED = (6, 11, 20, 54, 110)
"""Bytes per item, about 0.5 to 10 MB of Amazon-Book, at which ours shall lead."""


def rivals_of(found: Sequence[Cell]) -> list[str]:
    """Rivals that know what ours knows: codes, with lists beside them or without, and lists alone.

    The variants of ours, and the base of the decomposition, are no rivals.
    """
    names = dict.fromkeys(cell.method for cell in found)
    return [name for name in names if not name.startswith(OURS) and name != BASE]


def short_table(part: str, metric: str = "recall@50") -> str:
    """Ours, the best codes, the best lists alone and all alike, by data set and size."""
    rows = []
    for dataset in tables.datasets(measured(part)):
        found = cells(dataset, metric, part)
        codes = [name for name in rivals_of(found) if name not in UNTRAINED]
        ours = tables.cells(measured(part), dataset=dataset, method=OURS)
        for size in (size for size in CLAIMED if size in ours):
            dense, lists, alike = (
                best(found, size, names) for names in (codes, UNTRAINED, (ALIKE,))
            )
            shown = [tables.shown(ours[size], metric), _named(dense), _named(lists)]
            last = f"{mean(alike.theirs):.4f} ({alike.shown})" if alike else tables.EMPTY
            about = [tables.title(dataset), f"{size:g}", str(len(ours[size]))]
            rows.append([*about, *shown, last])
    head = ["data set", "bytes per item", "seeds", "ours", "best codes of others",
            "best lists alone", "ours, all alike"]  # fmt: skip
    return tables.table(head, rows)


def _named(cell: Cell | None) -> str:
    """A rival's mean, its name, and ours' lead over it."""
    if cell is None:
        return tables.EMPTY
    return f"{mean(cell.theirs):.4f} {cell.method} ({cell.shown})"


def verdict(part: str) -> str:
    """How often ours leads every rival with equal information, by data set."""
    rows = []
    for dataset in tables.datasets(measured(part)):
        least = [cell for metric in METRICS for cell in closest(dataset, metric, part)]
        if least:
            worst, behind = (
                min(least, key=lambda cell: cell.lead),
                [x for x in least if x.lead <= 0],
            )
            metric = worst.metric.replace("recall", "Recall").replace("ndcg", "NDCG")
            rows.append([
                tables.title(dataset), f"{len(least) - len(behind)} of {len(least)}",
                str(sum(cell.is_sure for cell in least if cell.lead > 0)),
                str(sum(cell.is_sure for cell in behind)),
                f"{worst.shown} {metric} at {worst.size:g}, {worst.method}",
            ])  # fmt: skip
    if not rows:
        return "Rivals were not measured yet.\n"
    return (
        f"Of Recall@50 and NDCG@50 at {', '.join(map(str, CLAIMED))} bytes per item, against the "
        "best rival of each:\n\n"
        + tables.table(["data set", "ours ahead", "sure", "surely behind", "least lead"], rows)
    )


def closest(dataset: str, metric: str, part: str) -> list[Cell]:
    """At each size, ours against the rival over which its lead is the least."""
    found = cells(dataset, metric, part)
    rivals = rivals_of(found)
    here = ([x for x in found if x.size == size and x.method in rivals] for size in CLAIMED)
    return [min(some, key=lambda cell: cell.lead) for some in here if some]
