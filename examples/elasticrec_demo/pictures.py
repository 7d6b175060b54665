"""Pictures of the report as inline SVG, whose colours the page decides."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

from elasticrec.stream.picture import Line, curve_lines, draw_lines, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from elasticrec_demo.showing import Shown

COLOURS = {"#010101": "currentColor", "#020202": "var(--accent)", "#030303": "var(--other)"}
"""Stand-ins that matplotlib draws with, and what the page draws with instead."""
INK, ACCENT, OTHER = COLOURS


def curve(shown: Shown) -> str:
    """Quality by size: the stream, the three sizes, RULE's files and the baselines."""
    found, metric = shown.model.curve, shown.model.curve["metric"]
    figure = _figure(3.1)
    axes = figure.add_subplot()
    searched = {float(point.n_bytes): point.quality for point in shown.rule}
    given = [size.n_bytes for size in shown.sizes], [size.quality for size in shown.sizes]
    lines = curve_lines(found, ACCENT, INK)
    draw_lines(
        axes,
        [*lines, Line("RULE", searched, OTHER, bold=True, style="D")] if searched else lines,
        size_text,
    )
    axes.plot(*given, "o", color=ACCENT, markersize=8, clip_on=False)
    axes.set_ylabel(metric)
    _plain(axes)
    return _svg(figure, f"{metric} of prefixes of the stream by size, beside RULE and baselines")


def heat_map(shown: Shown) -> str:
    """Columns and neighbours of items, from the most to the least popular, at each size."""
    figure = _figure(0.6 + 0.5 * len(shown.sizes))
    above, below = figure.subplots(2, 1, sharex=True)
    runs = [size.composition.runs() for size in shown.sizes]
    for axes, at, name in ((above, 2, "columns: bytes of codes"), (below, 3, "neighbours")):
        most = max(1, *(run[at] for row in runs for run in row))
        for y, row in enumerate(runs):
            for run in row:
                first, stop, shade = run[0], run[1], 0.05 + 0.6 * run[at] / most
                axes.barh(y, stop - first, 0.84, first, color=(ACCENT, shade), linewidth=0)
                if stop - first > 0.04 * shown.model.split.n_items:
                    axes.text((first + stop) / 2, y, run[at], ha="center", va="center", color=INK)
        axes.set_yticks(range(len(runs)), [str(size.budget) for size in shown.sizes])
        axes.invert_yaxis()
        axes.set_title(name, color=INK, fontsize=9)
        axes.set_xlim(0, shown.model.split.n_items)
        _plain(axes)
        axes.set_xticks([])
    below.set_xlabel("most popular items  →  least popular items")
    return _svg(figure, "What items have at each size, from the most to the least popular")


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(4.2, height), layout="constrained", facecolor="none")


def _plain(axes: Axes) -> None:
    """Two thin axes and small text in the page's colour, on nothing."""
    axes.set_facecolor("none")
    axes.tick_params(colors=INK, labelsize=9, which="both")
    for text in (axes.xaxis.label, axes.yaxis.label):
        text.set_color(INK)
        text.set_fontsize(9)
    for text in axes.texts:
        text.set_fontsize(9)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(INK)


def _svg(figure: Figure, name: str) -> str:
    """The figure as one SVG element that is read out by its name."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    drawn = out.getvalue()
    for stand_in, colour in COLOURS.items():
        drawn = drawn.replace(stand_in, colour)
    drawn = re.sub(r"<metadata>.*?</metadata>|font: [^;\"]*?'[^;\"]*", "", drawn, flags=re.DOTALL)
    start = drawn.index("<svg") + len("<svg")
    return f'<svg role="img" aria-label="{escape(name)}"{drawn[start:].strip()}'
