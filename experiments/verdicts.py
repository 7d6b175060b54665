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
        rows.append([method, *row])
    return tables.table(["method", *(f"{size:g}" for size in sizes)], rows)


BESIDE_LISTS = " + lists"
SPARSE = ("itemknn", "sparse linear")
ALIKE = "ours, all alike"
CLAIMED = (6, 11, 20, 54, 110)
"""Bytes per item, about 0.5 to 10 MB of Amazon-Book, at which ours shall lead."""


def rivals_of(found: Sequence[Cell]) -> list[str]:
    """Rivals with equal information: codes with lists beside them, lists alone, popularity."""
    names = dict.fromkeys(cell.method for cell in found)
    return [name for name in names if name.endswith(BESIDE_LISTS) or name in SPARSE]


def short_table(part: str, metric: str = "recall@50") -> str:
    """Ours, the best codes with lists, the best lists alone and all alike, by data set and size."""
    rows = []
    for dataset in tables.datasets(measured(part)):
        found = cells(dataset, metric, part)
        beside = [name for name in rivals_of(found) if name.endswith(BESIDE_LISTS)]
        ours = tables.cells(measured(part), dataset=dataset, method=OURS)
        for size in (size for size in CLAIMED if size in ours):
            dense, lists, alike = (best(found, size, names) for names in (beside, SPARSE, (ALIKE,)))
            shown = [tables.shown(ours[size], metric), _named(dense), _named(lists)]
            last = f"{mean(alike.theirs):.4f} ({alike.shown})" if alike else tables.EMPTY
            rows.append([tables.title(dataset), f"{size:g}", *shown, last])
    head = ["data set", "bytes per item", "ours", "best codes + lists", "best lists alone",
            "ours, all alike"]  # fmt: skip
    return tables.table(head, rows)


def _named(cell: Cell | None) -> str:
    """A rival's mean, its name, and ours' lead over it."""
    if cell is None:
        return tables.EMPTY
    return f"{mean(cell.theirs):.4f} {cell.method.removesuffix(BESIDE_LISTS)} ({cell.shown})"


def verdict(part: str) -> str:
    """How often ours leads every rival with equal information, and where it does not."""
    rows, ahead, sure, n = list[list[str]](), 0, 0, 0
    for dataset in tables.datasets(measured(part)):
        for metric in METRICS:
            found, missed = cells(dataset, metric, part), list[str]()
            for size in CLAIMED:
                here = [x for x in found if x.size == size and x.method in rivals_of(found)]
                if not here:
                    continue
                least = min(here, key=lambda cell: cell.lead)
                n, ahead = n + 1, ahead + (least.lead > 0)
                sure += all(cell.lead > 0 and cell.is_sure for cell in here)
                if least.lead <= 0:
                    missed.append(f"{size:g} ({least.shown}, {least.method})")
            if missed:
                name = metric.replace("recall", "Recall").replace("ndcg", "NDCG")
                rows.append([f"{tables.title(dataset)}, {name}", ", ".join(missed)])
    if not n:
        return "Rivals were not measured yet.\n"
    text = (
        f"Of {n} cells (data set, metric, size), ours leads every rival in {ahead}; in {sure} both "
        "tests are sure of every lead."
    )
    if not rows:
        return f"{text}\n"
    return f"{text} It does not lead here:\n\n" + tables.table(
        ["data set and metric", "bytes per item (lead over the best rival)"], rows
    )
