"""Curve: size against measured quality, from a small file to all there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.errors import InputError
from elasticrec.search.answers import answer_budgets
from elasticrec.search.problem import Found
from elasticrec.space.budget import Budget
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.ladder import Ladder

if TYPE_CHECKING:
    from elasticrec.evaluation.questions import Part
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.search.config import SearchConfig
    from elasticrec.search.searcher import Searcher

SMALLEST = 500_000
"""Bytes at which a curve begins, unless the full size is not much more."""
POINTS = 8
"""Budgets of a curve, the full size among them."""
Progress = Callable[[int, int], None]
"""Called with how many compositions were just measured, and how many there are in all."""


@dataclass(frozen=True, eq=False)
class Point:
    """One size on the curve."""

    budget: Budget
    """What was granted."""
    found: Found
    """What the search kept."""
    file_bytes: int
    """The exact length of its bundle."""
    measured: dict[str, Evaluation]
    """By kind of person."""


def curve_budgets(searcher: Searcher, n: int = POINTS) -> tuple[Budget, ...]:
    """Budgets in equal ratios from `SMALLEST` to the full size, two digits each; the full last."""
    menu, accounting = searcher.menu, searcher.accounting
    ladder = Ladder.of(menu, accounting)
    full = accounting.size(menu.compose(ladder.dearest))
    first = min(SMALLEST, full // 16)
    least = ladder.smallest_bytes
    exact = np.geomspace(max(first, least), full, n)[:-1]
    rounded = sorted({_two_digits(value) for value in exact.tolist()})
    return (*(Budget(size) for size in rounded if least <= size < full), Budget(full))


def _two_digits(value: float) -> int:
    """The nearest number of two digits and zeros."""
    unit: int = 10 ** max(len(str(int(value))) - 2, 0)
    return round(value / unit) * unit


def measure_curve(
    searcher: Searcher,
    budgets: Sequence[Budget],
    config: SearchConfig,
    *,
    persons: Sequence[str],
    part: Part = "test",
    metrics: Iterable[str],
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Point]:
    """A point per distinct budget, ascending, each measured the way a device ranks.

    Args:
        persons: `vector+history`, `history`, or both.
        part: whose pairs are relevant.
        metrics: such as `recall@50`.
    """
    from elasticrec.evaluation.device_path import measure_composition
    from elasticrec.storing import load_coded

    accounting = searcher.accounting
    if not isinstance(accounting, FileAccounting):
        raise InputError("a curve is of bundles; `elasticrec estimate` makes an estimator for them")
    model, split, names = load_coded(searcher.folder), searcher.folder.split(), list(metrics)
    answers = answer_budgets(searcher, budgets, config, seed=seed, controls=())
    points = []
    for answer in answers:
        composition = answer.searched.composition
        measured = {}
        for person in persons:
            measured[person] = measure_composition(
                model, composition, split,
                person=person, part=part, metrics=names, device=device,
            )  # fmt: skip
            if progress is not None:
                progress(1, len(answers) * len(persons))
        size = accounting.file_bytes(composition)
        points.append(Point(answer.budget, answer.searched, size, measured))
    return points


def save_curve(points: Sequence[Point], metric: str, path: Path | str, *, title: str = "") -> None:
    """Write a PNG of a metric against the bytes of the file, one line per kind of person."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    from elasticrec.search.pictures import save_png

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    sizes = [point.file_bytes for point in points]
    for person in points[0].measured:
        values = [point.measured[person].metrics[metric] for point in points]
        axes.plot(sizes, values, marker="o", label=person)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size / 1e6:g}"))
    axes.set_xticks(sizes, minor=False)
    axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.set(xlabel="file, MB", ylabel=metric, title=title)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="x", labelrotation=45)
    axes.grid(alpha=0.3)
    axes.legend(title="person known by", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_png(figure, path)
