"""Drawing: one look for all figures, written as SVG files that are the same on every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.stream import picture
from elasticrec.stream.picture import Line, draw_lines
from experiments.provenance import ROOT
from experiments.tables import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = ROOT / "docs" / "figures"
OURS, SECOND = picture.ACCENT, picture.SECOND
"""Colours of ours, and of what is next to it."""
OTHERS = ("#5b6770", "#4d7a57", "#8a5a2b", "#3f6f96", "#9c4a68", "#6d6d24", "#7a5f8f", "#94a0a8")


@contextmanager
def panels(
    name: str, columns: int = 1, rows: int = 1, about: str = "", **size: float
) -> Iterator[np.ndarray]:
    """(rows, columns) axes to draw on; afterwards `docs/figures/<name>.svg` is written.

    Args:
        about: the numbers that are drawn, to be written into the file.
        size: `width` and `height` of one panel in inches.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context(picture.STYLE):
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
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Description": about})
        finally:
            pyplot.close(figure)


def link(name: str, words: str) -> str:
    """The Markdown that shows a figure on a page in `docs/`; empty where it was never drawn."""
    return f"![{words}](figures/{name}.svg)\n" if (FOLDER / f"{name}.svg").exists() else ""


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
    bold, n = next(iter(colours)), len(series)
    columns = min(3, n)
    with panels(name, columns, rows=-(-n // columns), width=4.6, height=3.2) as axes:
        for axis, (dataset, methods) in zip(axes.flat, sorted(series.items()), strict=False):
            shown = [
                Line(method, {x: mean(ys) for x, ys in methods[method].items()},
                     colours[method], bold=method == bold)
                for method in colours
                if method in methods
            ]  # fmt: skip
            draw(axis, shown, metric)
            axis.set_title(title(dataset), loc="left", fontweight="bold")
        for axis in axes.flat[n:]:
            axis.set_axis_off()
    return True


def draw(axis: Axes, shown: Sequence[Line], metric: str) -> None:
    """Draw lines of a metric by bytes per item."""
    draw_lines(axis, shown, "{:g}".format)
    axis.set_xlabel("bytes per item")
    axis.set_ylabel(metric.replace("recall", "Recall").replace("ndcg", "NDCG"))
