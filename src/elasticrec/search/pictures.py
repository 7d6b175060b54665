"""A composition as a heat map, in the terminal and as PNG, and groups as a scatter plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.files import written_whole
from elasticrec.space.clustering import principal_components
from elasticrec.space.composition import DEEPEST, F32, Composition
from elasticrec.space.groups import Groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

ITEMS_SHOWN = 50
"""Items drawn of each group in a scatter plot, as in the paper's figure."""
COLOURS = "Blues"
"""The colour map of depths and counts."""


def terminal_map(
    composition: Composition,
    sizes: Sequence[int] | None,
    group_bytes: Sequence[int] | None,
    order: np.ndarray,
) -> Table:
    """A table of one line per group: its items, its blocks as a strip, their count, its bytes.

    In the strip `█` is a whole block, a digit its planes, `·` a dropped one.

    Args:
        sizes: G items per group; None where unknown.
        group_bytes: G bytes per group; None where unknown.
        order: (N,) the blocks from left to right.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title="what each group keeps", title_justify="left", pad_edge=False)
    for name in ("group", "items", "blocks", "kept", "neighbours", "bytes"):
        table.add_column(name, justify="left" if name == "blocks" else "right")
    for g in range(composition.n_groups):
        depths = composition.depths[g, order]
        strip = Text()
        for depth in depths.tolist():
            strip.append(_sign(depth), style=_shade(depth))
        items, taken = (
            "" if counts is None else f"{counts[g]:,}" for counts in (sizes, group_bytes)
        )
        kept = str(int((depths > 0).sum()))
        table.add_row(str(g), items, strip, kept, str(composition.neighbours[g]), taken)
    return table


def _sign(depth: int) -> str:
    """One character for a depth."""
    if depth == F32:
        return "█"
    return str(depth) if depth else "·"


def _shade(depth: int) -> str:
    """A rich style: the deeper, the bluer; dropped blocks are dim."""
    if depth == 0:
        return "dim"
    share = 1.0 if depth == F32 else depth / DEEPEST
    return f"rgb({int(150 * (1 - share))},{int(150 + 40 * (1 - share))},255)"


def save_heat_map(
    composition: Composition,
    path: Path | str,
    *,
    order: np.ndarray,
    title: str = "",
    groups: str = "group",
) -> None:
    """Write a PNG of groups by blocks, with the count of kept blocks beside each group.

    Args:
        order: (N,) the blocks from left to right.
        groups: what the groups are called, such as "group, the popular first".
    """
    from matplotlib.figure import Figure

    G, N = composition.depths.shape
    figure = Figure(figsize=(2.6 + 0.34 * N, 1.4 + 0.24 * G), layout="constrained")
    grid, bars = figure.subplots(1, 2, sharey=True, width_ratios=(0.34 * N, 1.6))
    planes = np.where(composition.depths == F32, DEEPEST + 1, composition.depths)[:, order]
    grid.pcolormesh(
        planes, cmap=COLOURS, vmin=-0.7, vmax=DEEPEST + 1.5, edgecolors="white", linewidth=1.5
    )
    _label_depths(grid, composition.depths[:, order])
    grid.set_xticks(np.arange(N) + 0.5, [str(block) for block in order])
    grid.set_yticks(np.arange(G) + 0.5, [str(g) for g in range(G)])
    grid.invert_yaxis()
    grid.set(xlabel="block", ylabel=groups, title=title)
    counts = composition.kept.sum(axis=1)
    bars.barh(np.arange(G) + 0.5, counts, height=0.7, color="#6baed6")
    for g, count in enumerate(counts.tolist()):
        bars.text(count, g + 0.5, f" {count}", va="center", fontsize=8)
    bars.set(xlabel="blocks kept", xlim=(0, N * 1.25))
    for axes in (grid, bars):
        axes.tick_params(length=0, labelsize=8)
        axes.spines[:].set_visible(False)
    bars.set_xticks([])
    save_png(figure, path)


def _label_depths(axes: Axes, depths: np.ndarray) -> None:
    """Write the number of planes into cells that are neither whole nor dropped."""
    for g, n in np.argwhere((depths > 0) & (depths != F32)).tolist():
        depth = int(depths[g, n])
        colour = "white" if depth > DEEPEST / 2 else "black"
        axes.text(n + 0.5, g + 0.5, str(depth), ha="center", va="center", fontsize=7, color=colour)


def save_scatter(
    items: np.ndarray,
    groups: Groups,
    path: Path | str,
    *,
    rng: np.random.Generator,
    composition: Composition | None = None,
    title: str = "",
) -> None:
    """Write a PNG of items on their first two principal components, 50 per group.

    Args:
        items: (V, D) embeddings, in the order of the groups.
        composition: colours items by how many blocks their group keeps; None colours by group.
    """
    from matplotlib.figure import Figure

    places = principal_components(items)  # (V, 2)
    shown = _some_of_each(groups, rng)
    member = groups.of_item[shown]
    counts = None if composition is None else composition.kept.sum(axis=1)
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.subplots()
    points = axes.scatter(
        places[shown, 0],
        places[shown, 1],
        c=member if counts is None else counts[member],
        cmap="tab20" if counts is None else "viridis_r",
        s=10,
        linewidths=0,
        alpha=0.75,
    )
    if counts is not None:
        figure.colorbar(
            points, ax=axes, ticks=np.unique(counts), label="blocks that the group keeps"
        )
    if groups.kind == "cluster":  # other groups lie on top of each other
        _label_clusters(axes, places[shown], member)
    axes.set(xlabel="first component", ylabel="second component", title=title)
    axes.spines[["top", "right"]].set_visible(False)
    save_png(figure, path)


def _some_of_each(groups: Groups, rng: np.random.Generator) -> np.ndarray:
    """The items that are drawn: at most `ITEMS_SHOWN` of each group."""
    spans = zip(groups.bounds[:-1], groups.bounds[1:], strict=True)
    return np.concatenate([lo + rng.permutation(hi - lo)[:ITEMS_SHOWN] for lo, hi in spans])


def _label_clusters(axes: Axes, places: np.ndarray, member: np.ndarray) -> None:
    """Write each cluster's number where its items lie."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.7, "lw": 0}
    for g in np.unique(member).tolist():
        x, y = np.median(places[member == g], axis=0)
        axes.text(x, y, str(g), fontsize=9, weight="bold", ha="center", va="center", bbox=box)


def save_png(figure: Figure, path: Path | str) -> None:
    """Write a figure as PNG, whole or not at all, without a date inside."""
    with written_whole(path) as file:
        figure.savefig(file, format="png", dpi=150, metadata={"Software": "elasticrec"})
