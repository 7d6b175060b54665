"""A composition as an inline SVG heat map: groups by blocks, like the paper's figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from elasticrec.space.composition import DEEPEST, F32

CELL, GAP = 14, 2
"""Side of a cell and the space between two, in the drawing's own units."""
LEFT, TOP, RIGHT, BOTTOM = 58, 6, 34, 24
"""Room for names and counts."""


def heat_map(
    depths: Sequence[Sequence[int]],
    sizes: Sequence[int],
    *,
    name: str,
    popular_first: bool,
    counts: Sequence[int] | None = None,
) -> str:
    """An inline SVG of depths (G, N): a filled cell is a kept block, a count stands behind.

    Args:
        sizes: (G,) items per group.
        name: what is shown, for those who cannot see it.
        popular_first: whether groups are in order of popularity, and may be named so.
        counts: (G,) what stands behind a row: neighbours; by default how many blocks are kept.
    """
    G, N = len(depths), len(depths[0])
    width = LEFT + N * (CELL + GAP) + RIGHT
    height = TOP + G * (CELL + GAP) + BOTTOM
    parts = [
        *_cells(depths, sizes, counts),
        *_names(G, popular_first),
        f'<text class="name" x="{LEFT}" y="{height - 8}">strongest block</text>',
        f'<text class="name" x="{width - RIGHT - GAP}" y="{height - 8}" text-anchor="end">'
        "weakest</text>",
    ]
    return (
        f'<svg class="heat" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}">'
        + "".join(parts)
        + "</svg>"
    )


def _cells(
    depths: Sequence[Sequence[int]], sizes: Sequence[int], counts: Sequence[int] | None
) -> Iterable[str]:
    """Every group's blocks, and how many of them, or how many neighbours, it keeps."""
    for g, row in enumerate(depths):
        y = TOP + g * (CELL + GAP)
        kept = sum(depth > 0 for depth in row)
        told = f"group {g}: {sizes[g]:,} items keep {kept} of {len(row)} blocks"
        if counts is not None:
            told += f" and {counts[g]} neighbours"
        yield f"<g><title>{escape(told)}</title>"
        for n, depth in enumerate(row):
            x = LEFT + n * (CELL + GAP)
            shade = 1.0 if depth == F32 else depth / DEEPEST
            kind = f'class="kept" fill-opacity="{0.25 + 0.75 * shade:g}"' if depth else "class='no'"
            yield f'<rect {kind} x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2.5"/>'
        end = LEFT + len(row) * (CELL + GAP) + 4
        behind = kept if counts is None else counts[g]
        yield f'<text class="tick" x="{end}" y="{y + 11}">{behind}</text></g>'


def _names(n_groups: int, popular_first: bool) -> Iterable[str]:
    """What the first and the last group are."""
    last = TOP + (n_groups - 1) * (CELL + GAP) + 11
    first_name, last_name = ("popular", "rare") if popular_first else ("group 0", f"{n_groups - 1}")
    yield f'<text class="tick" x="{LEFT - 6}" y="{TOP + 11}" text-anchor="end">{first_name}</text>'
    if n_groups > 1:
        yield f'<text class="tick" x="{LEFT - 6}" y="{last}" text-anchor="end">{last_name}</text>'
