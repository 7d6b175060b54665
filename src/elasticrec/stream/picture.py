"""Pictures of curves, in one style: round sizes below, and every line named at its right end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from elasticrec.errors import InputError
from elasticrec.stream.curve import LINES, whom

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")
"""Endings of the files that pictures are written to."""
INK, GRID, ACCENT, SECOND = "#1f2933", "#d9dee3", "#1f5fbf", "#b4530a"
STYLE = {
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "figure.facecolor": "white",
    "svg.hashsalt": "elasticrec",
}
"""What matplotlib draws with."""
GAP = 0.06
"""Least distance of two names, as a share of the height."""
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
_STEPS = ((1, 2, 5), (1, 3), (1,))
_FINE_STEPS = (tuple(n / 2 for n in range(2, 20)), tuple(n / 10 for n in range(10, 100)))


@dataclass(frozen=True)
class Line:
    """One line of a picture."""

    name: str
    points: Mapping[float, float]
    """Quality by size; a line with `level` has none."""
    colour: str = ACCENT
    bold: bool = False
    style: str = "o-"
    """Marks and strokes as matplotlib writes them."""
    level: float | None = None
    """A quality that does not depend on the size: a dashed line over the whole width."""


def draw_lines(axes: Axes, lines: Sequence[Line], text: Callable[[float], str]) -> None:
    """Draw quality by the logarithm of size; every line is named at its right end."""
    sizes = [size for line in lines for size in line.points]
    low, high = min(sizes), max(sizes)
    if low == high:
        low, high = low / 2, high * 2
    ends = []
    for line in lines:
        level = line.level
        points = sorted(line.points.items()) if level is None else [(low, level), (high, level)]
        axes.plot(
            *zip(*points, strict=True), line.style if level is None else "--", color=line.colour,
            linewidth=2.2 if line.bold else 1.2, markersize=4 if line.bold else 3,
            zorder=3 if level is None else 2, clip_on=False,
        )  # fmt: skip
        ends.append(points[-1])
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.05 * max(y for _, y in ends))
    # Names and numbers beside the plot leave it about 0.6 of its place.
    inches = 0.6 / 0.775 * axes.bbox.width / axes.figure.dpi
    for most in (6, 5, 4, 3, 2):
        ticks = round_sizes(low, high, most)
        gaps = [math.log(b / a) / math.log(high / low) * inches for a, b in pairwise(ticks)]
        if min(gaps, default=inches) > 0.1 + 0.075 * max(len(text(tick)) for tick in ticks):
            break
    axes.set_xticks(ticks, [text(tick) for tick in ticks])
    axes.minorticks_off()
    _name(axes, lines, ends)


def round_sizes(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two: 1, 2 and 5 times powers of ten, fewer of them, or finer ones."""

    def within(steps: Sequence[float]) -> list[float]:
        sizes = (step * 10.0**power for power in range(-3, 16) for step in steps)
        return [size for size in sizes if low <= size <= high]

    ways = [within(steps) for steps in _STEPS]
    found = next((way for way in ways if len(way) <= most), ways[-1])
    found = next((way for way in (found, *map(within, _FINE_STEPS)) if len(way) > 1), found)
    return found[:: math.ceil(len(found) / most) or 1]


def _name(axes: Axes, lines: Sequence[Line], ends: Sequence[tuple[float, float]]) -> None:
    """Write each line's name to the right of the plot, at its end's height or near it."""
    high = axes.get_ylim()[1]
    heights = spread([y for _, y in ends], GAP * high)
    heights = [height - max(0.0, max(heights) - high) for height in heights]
    for line, (x, y), height in zip(lines, ends, heights, strict=True):
        axes.annotate(
            line.name, xy=(x, y), xytext=(1.04, height), textcoords=axes.get_yaxis_transform(),
            va="center", color=line.colour, fontweight="bold" if line.bold else "normal",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": line.colour, "linewidth": 0.5, "alpha": 0.6,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(values: Sequence[float], gap: float) -> list[float]:
    """The values moved apart as little as needed, so that neighbours differ by `gap` at least."""
    order = sorted(range(len(values)), key=values.__getitem__)
    wanted = [values[n] - gap * place for place, n in enumerate(order)]
    placed = [0.0] * len(values)
    for place, n in enumerate(order):  # isotonic regression, by its min-max formula
        ends = range(place + 1, len(wanted) + 1)
        means = (min(fmean(wanted[start:end]) for end in ends) for start in range(place + 1))
        placed[n] = gap * place + max(means)
    return placed


def size_text(n_bytes: float) -> str:
    """A size in a round unit: 50 KB, 2 MB."""
    for factor, unit in _UNITS:
        if n_bytes >= factor:
            return f"{n_bytes / factor:g} {unit}"
    return f"{n_bytes:g} B"


def curve_lines(curve: dict[str, Any], accent: str = ACCENT, ink: str = INK) -> list[Line]:
    """The stream of a measured curve, and what it is compared with."""
    metric = curve["metric"]
    points = {point["bytes"]: point[metric] for point in curve["points"]}
    known = [name for name in LINES if name in curve]
    levels = [Line(LINES[name], {}, ink, level=curve[name][metric]) for name in known]
    return [Line("the stream", points, accent, bold=True), *levels]


def save_curve(curve: dict[str, Any], path: Path | str, *, title: str) -> None:
    """Draw the curve's main metric by size, with baselines and the trained vectors as lines."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: cannot be drawn, expected a name in {', '.join(FORMATS)}")
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.add_subplot()
        draw_lines(axes, curve_lines(curve), size_text)
        axes.set_xlabel("bytes on the device")
        axes.set_ylabel(f"{curve['metric']}, {whom(curve)}")
        axes.set_title(title, loc="left", fontweight="bold")
        undated = {"Date": None} if Path(path).suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=undated)
