"""A picture of a curve: measured quality by size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elasticrec.errors import InputError

FORMATS = (".png", ".svg", ".pdf")
"""Endings of the files that pictures are written to."""
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))


def save_curve(curve: dict[str, Any], path: Path | str, *, title: str) -> None:
    """Draw the curve's main metric by size, with popularity and the trained vectors as lines."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: cannot be drawn, expected a name in {', '.join(FORMATS)}")
    metric, points = curve["metric"], curve["points"]
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    sizes = [point["bytes"] for point in points]
    axes.plot(sizes, [point[metric] for point in points], "o-", color="#1b6ca8", label="stream")
    for name, label, style in (
        ("full", "trained vectors, no lists", "--"),
        ("popularity", "popularity", ":"),
    ):
        axes.axhline(curve[name][metric], color="#777777", linestyle=style, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)
    axes.set_xlabel("bytes on the device")
    axes.set_ylabel(f"{metric}, {curve['part']}")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)


def size_text(n_bytes: float) -> str:
    """A size in a round unit: 50 KB, 2 MB."""
    for factor, unit in _UNITS:
        if n_bytes >= factor:
            return f"{n_bytes / factor:g} {unit}"
    return f"{n_bytes:g} B"
