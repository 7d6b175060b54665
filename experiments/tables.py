"""Markdown tables of result lines: methods beside each other, with leads and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from experiments import lines
from experiments.comparing import ALPHA, holm

TITLES = {
    "gowalla": "Gowalla",
    "yelp2018": "Yelp2018",
    "amazon-book": "Amazon-Book",
    "goodbooks": "goodbooks",
    "amazon-sports": "Amazon-Sports",
    "anime": "Anime",
}
"""Data sets in the order of tables."""
EMPTY = "–"


@dataclass(frozen=True)
class Lead:
    """Two methods at one size of a data set."""

    dataset: str
    size: float
    """Bytes per item."""
    ours: float
    theirs: float
    p: float | None
    """Of the paired test over users, by Holm; None where none was made."""

    @property
    def relative(self) -> float:
        """By how much ours is better, as a share of theirs."""
        return self.ours / self.theirs - 1

    @property
    def sure(self) -> str:
        """The p as tables write it, bold below 0.05."""
        if self.p is None:
            return EMPTY
        return f"**{self.p:.2g}**" if self.p < ALPHA else f"{self.p:.2g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; empty without rows."""
    if not rows:
        return ""
    all_rows = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in all_rows) + "\n"


def datasets(found: Sequence[lines.Line]) -> list[str]:
    """The data sets of some lines, in the order of tables."""
    known = {line["dataset"] for line in found}
    return [name for name in TITLES if name in known] + sorted(known - set(TITLES))


def cells(found: Sequence[lines.Line], **wanted: object) -> dict[float, list[lines.Line]]:
    """By bytes per item: the lines that have all the wanted fields."""
    out: dict[float, list[lines.Line]] = {}
    for line in found:
        if lines.holds([line], **wanted):
            out.setdefault(float(line["bytes_per_item"]), []).append(line)
    return dict(sorted(out.items()))


def title(dataset: str) -> str:
    """A data set's name as tables write it."""
    return TITLES.get(dataset, dataset)


def shown(found: Sequence[lines.Line], metric: str) -> str:
    """A metric's mean ± deviation over some lines; a dash without any."""
    return lines.mean_and_deviation(list(found), metric) if found else EMPTY


def by_size(
    experiment: str, methods: Sequence[str], metric: str = "recall@50", **wanted: object
) -> str:
    """A metric by data set and method at every size, mean ± deviation over seeds."""
    found = [x for x in lines.latest(experiment) if lines.holds([x], **wanted)]
    sizes = sorted({float(line["bytes_per_item"]) for line in found})
    rows = []
    for dataset in datasets(found):
        for method in methods:
            here = cells(found, dataset=dataset, method=method)
            values = [shown(here.get(size, []), metric) for size in sizes]
            if here:
                rows.append([title(dataset), method, *values])
    return table(["data set", "method", *(f"{size:g}" for size in sizes)], rows)


def leads(
    experiment: str,
    method: str,
    against: str,
    metric: str = "recall@50",
    found: Sequence[lines.Line] | None = None,
    **wanted: object,
) -> list[Lead]:
    """A method against another one: by data set and size, p corrected within a data set.

    Args:
        found: lines to compare; by default the experiment's.
        wanted: fields that lines and tests must have.
    """
    found = lines.latest(experiment) if found is None else found
    found = [x for x in found if lines.holds([x], **wanted)]
    tests = lines.latest_tests(experiment, method=method, against=against, **wanted)
    out = []
    for dataset in datasets(found):
        ours, theirs = (cells(found, dataset=dataset, method=m) for m in (method, against))
        p_values = {
            float(x["bytes_per_item"]): float(x["metrics"][f"{metric} p"])
            for x in tests if x["dataset"] == dataset
        }  # fmt: skip
        adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
        for size in (size for size in ours if size in theirs):
            a, b = (mean(x["metrics"][metric] for x in side[size]) for side in (ours, theirs))
            out.append(Lead(dataset, size, a, b, adjusted.get(size)))
    return out


def mean_leads(found: Sequence[Lead]) -> dict[str, float]:
    """By data set: the mean relative lead over sizes."""
    return {
        dataset: mean(lead.relative for lead in found if lead.dataset == dataset)
        for dataset in dict.fromkeys(lead.dataset for lead in found)
    }


def leads_table(found: Sequence[Lead], method: str, against: str) -> str:
    """Leads size by size, and their mean."""
    rows = []
    for dataset, average in mean_leads(found).items():
        for lead in (lead for lead in found if lead.dataset == dataset):
            values = [f"{lead.ours:.4f}", f"{lead.theirs:.4f}", f"{lead.relative:+.1%}", lead.sure]
            rows.append([title(dataset), f"{lead.size:g}", *values])
        rows.append([title(dataset), "mean", "", "", f"{average:+.1%}", ""])
    return table(["data set", "bytes per item", method, against, "lead", "p (Holm)"], rows)
