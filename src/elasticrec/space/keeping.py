"""A trained table as a composition leaves it: what a device would rank with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.space.composition import F32, Composition
from elasticrec.space.groups import Groups


def kept_table(
    table: BlockTable,
    groups: Groups,
    composition: Composition,
    *,
    width_correction: bool = False,
) -> BlockTable:
    """The same table with zeros for all that a composition drops, so that it scores alike.

    Args:
        groups: those by which the table's items are numbered.
        width_correction: divide by |B_g|, which ranks as Eq. 2's max|B| / |B_g| does.
    """
    given = composition.depths.shape
    if given != (groups.n_groups, table.n_blocks):
        expected = f"expected {groups.n_groups} groups of {table.n_blocks} blocks"
        raise InputError(f"a composition of {given[0]} groups of {given[1]} blocks; {expected}")
    if composition.neighbours.any() or (composition.depths[composition.kept] != F32).any():
        raise InputError("a table without codes keeps blocks whole or not at all, no neighbours")
    kept = composition.kept
    widths = kept.sum(axis=1)
    if not widths.all():
        raise InputError(f"group {int(widths.argmin())} keeps nothing, expected a block at least")
    factors = (kept / widths[:, None] if width_correction else kept).astype(np.float32)  # (G, N)
    return replace(table, blocks=table.blocks * factors[groups.of_item][:, :, None])
