"""What `elasticrec inspect` shows of a bundle."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from elasticrec.bundle.header import Layout


def is_bundle(path: Path) -> bool:
    """Whether a file begins as bundles do."""
    from elasticrec.bundle.header import MAGIC

    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def show_bundle(
    path: Path, model: Path | None, heat_map: Path | None, scatter: Path | None
) -> None:
    """Print a bundle's facts, sections and composition; draw it. Damage is refused.

    Args:
        model: the folder of the model that it shall be of.
    """
    import hashlib

    import numpy as np
    from rich.console import Console

    from elasticrec.bundle.header import Layout
    from elasticrec.errors import InputError
    from elasticrec.search.pictures import save_heat_map, terminal_map
    from elasticrec.space.composition import Composition

    if scatter is not None:
        raise InputError("--scatter draws items of a model or a composition, not of a bundle")
    content = path.read_bytes()
    layout = Layout.of(content)
    _check(path, content, layout)
    if model is not None:
        _check_model(path, layout, model)
    about = json.loads(_section(content, layout, "META"))
    console = Console()
    lines = [*_facts(layout, about, len(content)), f"sha256 {hashlib.sha256(content).hexdigest()}"]
    console.print("\n".join(lines), highlight=False, soft_wrap=True)
    console.print(_sections(layout))
    composition = Composition(layout.depths, layout.neighbours)
    order = np.arange(composition.n_blocks)
    planes = layout.depths.astype(np.int64).sum(axis=1)
    console.print(terminal_map(composition, layout.sizes.tolist(), _bytes(layout, planes), order))
    if heat_map is not None:
        title = f"{about.get('name') or path.name}, {len(content):,} bytes"
        save_heat_map(composition, heat_map, order=order, title=title)
        console.print(f"{heat_map} written", highlight=False)


def _check(path: Path, content: bytes, layout: Layout) -> None:
    """Refuse a bundle one of whose sections is damaged."""
    from elasticrec.bundle.header import ENTRY, values
    from elasticrec.errors import InputError
    from elasticrec.space.file_bytes import ENTRY_BYTES, PREFIX_BYTES

    for number, (kind, (at, length)) in enumerate(layout.sections.items()):
        entry = values(ENTRY, content, PREFIX_BYTES + number * ENTRY_BYTES)
        if zlib.crc32(content[at : at + length]) != entry["crc"]:
            raise InputError(f"{path}: section {kind.name} is damaged, its checksum does not match")


def _check_model(path: Path, layout: Layout, model: Path) -> None:
    """Refuse a bundle of another model."""
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.errors import InputError

    expected = ModelFolder.open(model).model_id
    if layout.model_id.hex() != expected:
        raise InputError(
            f"{path}: made for model {layout.model_id.hex()}, expected model {expected}"
        )


def _section(content: bytes, layout: Layout, name: str) -> bytes:
    """The bytes of one section."""
    from elasticrec.bundle.header import Kind

    at, length = layout.sections[Kind[name]]
    return content[at : at + length]


def _facts(layout: Layout, about: dict[str, Any], n_bytes: int) -> list[str]:
    """What a bundle is, line by line."""
    from datetime import UTC, datetime

    from elasticrec.bundle.header import PERSONS, IdKind, Kind
    from elasticrec.space.budget import Budget

    shape = layout.shape
    ids = IdKind(shape["id_kind"])
    named = "items by number" if ids is IdKind.DENSE else f"ids as {ids.name.lower()}"
    lines = [f"{name}: {about[name]}" for name in about if about[name] is not None]
    trained = datetime.fromtimestamp(shape["trained"], UTC).date().isoformat()
    lines.append(
        f"{shape['n_items']:,} items in {shape['n_groups']} groups, {shape['n_blocks']} blocks; "
        f"{named}; for persons known by {PERSONS[shape['person']]}; "
        f"model {layout.model_id.hex()[:12]}" + (f", trained {trained}" if shape["trained"] else "")
    )
    if Kind.WITHDRAWN in layout.sections:
        lines.append(f"{layout.sections[Kind.WITHDRAWN][1] // 4:,} items withdrawn")
    lines.append(f"{n_bytes:,} bytes ({Budget(n_bytes)})")
    return lines


def _sections(layout: Layout) -> Table:
    """A line per section: its bytes and its share of them."""
    from rich.table import Table

    table = Table(title="sections", title_justify="left", pad_edge=False)
    for name in ("section", "bytes", "share"):
        table.add_column(name, justify="left" if name == "section" else "right")
    total = sum(length for _, length in layout.sections.values())
    for kind, (_, length) in layout.sections.items():
        table.add_row(kind.name, f"{length:,}", f"{length / total:.1%}")
    return table


def _bytes(layout: Layout, planes: Any) -> list[int]:
    """(G,) bytes of codes and neighbours of each group."""
    from elasticrec.space.file_bytes import slot_bytes

    codes = layout.sizes * (planes + (planes > 0))
    slots = slot_bytes(int(layout.sizes.sum()), layout.sizes) * layout.neighbours
    found: list[int] = (codes + slots).tolist()
    return found
