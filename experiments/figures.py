"""Drawing: one look for all figures, written as SVG files that are the same on every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.provenance import ROOT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = ROOT / "docs" / "figures"
INK, GRID = "#1f2933", "#d9dee3"
OURS, NEIGHBOURS = "#0b5fa5", "#c4570e"
"""Colours of ours, and of what is next to it or neighbours alone."""
OTHERS = ("#6b7780", "#94a0a8", "#4d7a57", "#a3855c", "#5c7fa3", "#a35c74", "#7c7c3a", "#8a6d9c")
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


def as_path(name: str) -> Path:
    """Where a figure lies."""
    return FOLDER / f"{name}.svg"


def quality_by_size(
    name: str,
    found: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    metric: str = "recall@50",
    **wanted: object,
) -> bool:
    """Draw a metric against bytes per item, a panel per data set; False where there is nothing.

    Args:
        found: result lines.
        colours: of methods; those that are not named are left out, the first is drawn bold.
        wanted: fields that lines must have.
    """
    series: dict[str, dict[str, dict[float, list[float]]]] = {}
    for line in found:
        if line["method"] in colours and all(line.get(k) == v for k, v in wanted.items()):
            sizes = series.setdefault(line["dataset"], {}).setdefault(line["method"], {})
            sizes.setdefault(float(line["bytes_per_item"]), []).append(line["metrics"][metric])
    if not series:
        print(f"{name}: nothing measured yet")
        return False
    bold = next(iter(colours))
    with panels(name, columns=len(series), width=4.4, height=3.4) as axes:
        for axis, (dataset, methods) in zip(axes[0], sorted(series.items()), strict=True):
            shown = [
                Curve(method, {x: mean(ys) for x, ys in methods[method].items()},
                      colours[method], bold=method == bold)
                for method in colours
                if method in methods
            ]  # fmt: skip
            curves(axis, shown, logarithmic=True)
            ticks = sorted({x for curve in shown for x in curve.points})
            axis.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axis.minorticks_off()
            axis.set_title(dataset, loc="left", fontweight="bold")
            axis.set_xlabel("bytes per item")
            axis.set_ylabel(metric.replace("recall", "Recall").replace("ndcg", "NDCG"))
    return True
