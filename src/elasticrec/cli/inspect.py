"""`elasticrec inspect`: what a model or a composition holds, in the terminal and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.space.groups import Groups


def inspect(
    path: Annotated[
        Path,
        typer.Argument(help="A model folder, a bundle, or a composition written by `search`."),
    ],
    model: Annotated[
        Path | None,
        typer.Option(help="The composition's model: checks that they fit; needed for --scatter."),
    ] = None,
    heat_map: Annotated[
        Path | None,
        typer.Option(help="A PNG to write: groups by blocks, with counts (not of a model)."),
    ] = None,
    scatter: Annotated[
        Path | None,
        typer.Option(help="A PNG to write: 50 items of each group in two dimensions."),
    ] = None,
) -> None:
    """Show groups, blocks and bytes; what a composition or a bundle keeps, as a heat map.

    Of a bundle also what it says of itself, its sections, and its hash, by which a device may check
    the download.

    \b
    Example:
      elasticrec inspect watch.elastic
      elasticrec inspect MODEL --scatter groups.png
      elasticrec inspect composition.json --model MODEL --heat-map kept.png
    """
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.cli._bundle import is_bundle, show_bundle
    from elasticrec.errors import InputError

    for picture in (heat_map, scatter):
        if picture is not None:
            from elasticrec.files import check_writable

            check_writable(picture)
    if path.is_dir():
        if heat_map is not None:
            raise InputError("--heat-map draws a composition, but a model folder was given")
        _show_model(ModelFolder.open(path), scatter)
        return
    if is_bundle(path):
        show_bundle(path, model, heat_map, scatter)
        return
    if scatter is not None and model is None:
        raise InputError("--scatter of a composition needs its --model")
    _show_composition(path, model, heat_map, scatter)


def _show_model(folder: ModelFolder, scatter: Path | None) -> None:
    """Print a model's shape, groups and block energies; draw its groups."""
    from rich.console import Console

    from elasticrec.search.pictures import save_scatter
    from elasticrec.space.energy import block_energy
    from elasticrec.rule.randomizer import generator
    from elasticrec.space.regroup import load_groups

    split, table, groups = folder.split(), folder.table(), load_groups(folder)
    console = Console()
    console.print(
        f"{split.name}: {split.n_users:,} users, {split.n_items:,} items; {table.base}, "
        f"{table.score} score, {table.n_blocks} blocks of {table.block_size}; "
        f"model {folder.model_id[:12]}"
    )
    console.print(_energy_line(block_energy(table)))
    per_item = 4 * table.dimensions
    console.print(_groups_table(groups, split.train.per_item, per_item))
    console.print(f"full: {per_item * (split.n_items + 1):,} bytes of vectors")
    if scatter is not None:
        title = f"{groups.n_groups} {groups.kind} groups of {split.name}"
        save_scatter(table.items, groups, scatter, rng=generator(0, 0), title=title)
        console.print(f"{scatter} written", highlight=False)


def _energy_line(energy: Any) -> str:
    """The share of each block in the energy of scores, the strongest first."""
    order = (-energy).argsort(kind="stable")
    shares = ", ".join(f"{n} {energy[n] / energy.sum():.0%}" for n in order)
    return f"blocks by energy: {shares}"


def _groups_table(groups: Groups, popularity: Any, per_item: int) -> Table:
    """A line per group: items, their share of the interactions, bytes at full size."""
    import numpy as np
    from rich.table import Table

    table = Table(title=f"{groups.kind} groups", title_justify="left", pad_edge=False)
    for name in ("group", "items", "interactions", "share", "full bytes"):
        table.add_column(name, justify="right")
    taken = np.add.reduceat(popularity, groups.bounds[:-1])
    for g, (size, count) in enumerate(zip(groups.sizes.tolist(), taken.tolist(), strict=True)):
        share = count / max(int(taken.sum()), 1)
        table.add_row(str(g), f"{size:,}", f"{count:,}", f"{share:.1%}", f"{size * per_item:,}")
    return table


def _show_composition(
    path: Path, model: Path | None, heat_map: Path | None, scatter: Path | None
) -> None:
    """Print a composition with its facts, as a heat map; draw it."""
    import numpy as np
    from rich.console import Console

    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.search.pictures import save_heat_map, save_scatter, terminal_map
    from elasticrec.space.composition import Composition, read_saved
    from elasticrec.rule.randomizer import generator
    from elasticrec.space.regroup import load_groups

    folder = None if model is None else ModelFolder.open(model)
    composition = Composition.load(path, model_id=None if folder is None else folder.model_id)
    about, console = read_saved(path)["about"], Console()
    facts = _facts(composition.summary(), about)
    console.print("\n".join(facts), highlight=False)
    order = np.array(about.get("block_order", range(composition.n_blocks)))
    sizes, taken = (about.get(name) for name in ("group_sizes", "group_bytes"))
    console.print(terminal_map(composition, sizes, taken, order))
    if heat_map is not None:
        popular = "group, the popular first" if about.get("groups") == "popularity" else "group"
        save_heat_map(composition, heat_map, order=order, title=facts[-1], groups=popular)
        console.print(f"{heat_map} written", highlight=False)
    if scatter is not None and folder is not None:
        save_scatter(
            folder.table().items,
            load_groups(folder),
            scatter,
            rng=generator(0, 0),
            composition=composition,
            title=facts[-1],
        )
        console.print(f"{scatter} written", highlight=False)


def _facts(summary: str, about: dict[str, Any]) -> list[str]:
    """Lines about a composition; the last one is its size, where it is known."""
    from elasticrec.space.budget import Budget

    names = ("method", "accounting", "estimate", "measured", "note")
    lines = [f"{name}: {about[name]}" for name in names if about.get(name) not in (None, "")]
    lines.append(summary)
    if "n_bytes" in about and "budget_bytes" in about:
        lines.append(f"{Budget(about['n_bytes'])} of a budget of {Budget(about['budget_bytes'])}")
    return lines
