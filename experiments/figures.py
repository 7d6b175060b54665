"""Drawing: one look for all figures, written as SVG files that are the same on every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.provenance import ROOT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = ROOT / "docs" / "figures"
INK, GRID = "#1f2933", "#d9dee3"
OURS, NEIGHBOURS, PAPER = "#0b5fa5", "#c4570e", "#7a3e9d"
"""Colours with one meaning each: ours, neighbours alone, the paper's method."""
OTHERS = ("#6b7780", "#94a0a8", "#4d7a57", "#a3855c", "#5c7fa3", "#a35c74", "#7c7c3a", "#8a6d9c")
BLUES = ("#9ecae1", "#4292c6", "#08519c")
"""Three sizes, the smallest first."""
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


@dataclass(frozen=True)
class Curve:
    """One line of a plot."""

    label: str
    points: Mapping[float, float]
    colour: str = OTHERS[0]
    bold: bool = False
    dashed: bool = False
    marks: bool = True
    order: int = field(default=0, compare=False)


@contextmanager
def panels(name: str, columns: int = 1, rows: int = 1, **size: float) -> Iterator[np.ndarray]:
    """(rows, columns) axes to draw on; afterwards `docs/figures/<name>.svg` is written.

    Args:
        size: `width` and `height` of one panel in inches.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(
            rows,
            columns,
            figsize=(columns * size.get("width", 4.2), rows * size.get("height", 3.0)),
            squeeze=False,
            layout="constrained",
        )
        try:
            yield axes
            FOLDER.mkdir(parents=True, exist_ok=True)
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        finally:
            pyplot.close(figure)


def link(name: str, words: str) -> str:
    """The Markdown that shows a figure on a page in `docs/`; empty where it was never drawn."""
    return f"![{words}](figures/{name}.svg)\n" if (FOLDER / f"{name}.svg").exists() else ""


def curves(axis: Axes, found: Sequence[Curve], *, logarithmic: bool = False) -> None:
    """Draw lines, each named at its right end; names keep their distance."""
    if logarithmic:
        axis.set_xscale("log")
    ends: list[tuple[float, Curve, float]] = []
    for curve in found:
        xs = sorted(curve.points)
        ys = [curve.points[x] for x in xs]
        axis.plot(
            xs, ys, color=curve.colour, linewidth=2.4 if curve.bold else 1.1,
            linestyle="--" if curve.dashed else "-", marker="o" if curve.marks else "",
            markersize=4 if curve.bold else 2.5, zorder=3 if curve.bold else 2,
        )  # fmt: skip
        if xs:
            ends.append((ys[-1], curve, xs[-1]))
    _name_ends(axis, ends)


def _name_ends(axis: Axes, ends: list[tuple[float, Curve, float]]) -> None:
    """Write each line's name to the right of the plot, at its end's height or near it."""
    if not ends:
        return
    low, high = axis.get_ylim()
    gap = 0.052 * (high - low)
    heights = spread([y for y, _, _ in ends], gap)
    over = max(0.0, max(heights) - high)
    heights = [height - over for height in heights]
    at = axis.get_xlim()[1]
    for (y, curve, x), height in zip(ends, heights, strict=True):
        axis.annotate(
            curve.label, xy=(x, y), xytext=(at, height), textcoords="data", va="center",
            fontsize=8 if curve.bold else 7, color=curve.colour,
            fontweight="bold" if curve.bold else "normal", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": curve.colour, "linewidth": 0.4, "alpha": 0.5},
        )  # fmt: skip
    axis.set_ylim(low, high)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """The values moved apart as little as needed, so that neighbours differ by `gap` at least."""
    order = np.argsort(values, kind="stable")
    heights = np.asarray(values, dtype=np.float64)[order]
    clusters = [[value] for value in heights]
    centres = [float(value) for value in heights]
    i = 0
    while i < len(clusters) - 1:
        room = gap * (len(clusters[i]) + len(clusters[i + 1])) / 2
        if centres[i + 1] - centres[i] < room - 1e-12:
            clusters[i] += clusters.pop(i + 1)
            centres.pop(i + 1)
            centres[i] = float(np.mean(clusters[i]))
            i = max(0, i - 1)
        else:
            i += 1
    placed = [
        centre + gap * (k - (len(cluster) - 1) / 2)
        for centre, cluster in zip(centres, clusters, strict=True)
        for k in range(len(cluster))
    ]
    out = np.empty(len(placed))
    out[order] = placed
    return [float(value) for value in out]


def bars(
    axis: Axes, groups: Mapping[str, Mapping[str, float]], colours: Mapping[str, str], unit: str
) -> None:
    """Draw grouped bars: one group per name, one bar per series; absent values leave a gap."""
    series = list(dict.fromkeys(name for values in groups.values() for name in values))
    width = 0.8 / max(1, len(series))
    for s, name in enumerate(series):
        places = [g for g, values in enumerate(groups.values()) if name in values]
        heights = [values[name] for values in groups.values() if name in values]
        at = np.array(places) + (s - (len(series) - 1) / 2) * width
        axis.bar(at, heights, width * 0.9, color=colours.get(name, OTHERS[0]), label=name)
    axis.set_xticks(range(len(groups)), list(groups))
    axis.grid(axis="x", visible=False)
    axis.set_ylabel(unit)


def dots(
    axis: Axes, groups: Mapping[str, Mapping[str, float]], colours: Mapping[str, str], unit: str
) -> None:
    """Draw a row per name, the first on top, and a dot per series; lines mark the first name's.

    A value below half of the first name's least would crush all others: it is told at the edge.
    """
    names = list(groups)
    first = groups[names[0]]
    least = 0.5 * min(first.values(), default=0.0)
    for series, value in first.items():
        axis.axvline(value, color=colours.get(series, OTHERS[0]), linewidth=0.8, alpha=0.6)
    for place, values in enumerate(groups.values()):
        shown = {series: value for series, value in values.items() if value >= least}
        for series, value in shown.items():
            axis.plot(value, place, "o", color=colours.get(series, OTHERS[0]), markersize=5)
        if lost := [f"{value:.4f}" for value in values.values() if value < least]:
            axis.annotate(
                "\u25c1 " + ", ".join(lost), (0, place), xycoords=("axes fraction", "data"),
                xytext=(3, 0), textcoords="offset points", va="center", fontsize=7,
            )  # fmt: skip
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.margins(x=0.08)
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel(unit)


def as_path(name: str) -> Path:
    """Where a figure lies."""
    return FOLDER / f"{name}.svg"


def shade(values: np.ndarray, axis: Axes, **words: Any) -> Any:
    """Draw a matrix as a heat map; the same colours in every figure."""
    shown = axis.imshow(values, aspect="auto", cmap="Blues", interpolation="nearest", **words)
    axis.grid(visible=False)
    return shown
