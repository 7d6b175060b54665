"""Coding: a trained table becomes byte planes once, whatever compositions follow.

All vectors are turned (by energy, then at random inside each block), and the mean of each item's
group is taken off. What is left is written as words, where the catalogue is large enough to pay for
them: the first plane of each of the first blocks names two. What they leave of each block is
written as a letter. What that leaves, or all of it where there are no words, is divided by its
block's spread and written as signs, the coarsest first. One plane of a block is one byte per item.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import pairwise

import numpy as np

from elasticrec.blocks.table import BlockTable
from elasticrec.coding.codes import Codes, decode_item
from elasticrec.coding.gains import Gain, gain_bytes, row_gains
from elasticrec.coding.rotation import energy_rotation, rotation_inside_blocks
from elasticrec.coding.signs import BLOCK, PLANES, SIGNS, fit_steps, sign_planes
from elasticrec.coding.words import LIST, spelt, word_lists, worded
from elasticrec.data.errors import InputError

__all__ = ["Codes", "decode_item", "encode"]

log = logging.getLogger(__name__)
_ITEMS_AT_ONCE = 8192
_LARGEST = 6e4
"""Above this a mean may not fit a 16-bit float."""


def encode(
    table: BlockTable,
    bounds: np.ndarray,
    rows: np.ndarray,
    *,
    rng: np.random.Generator,
    gain: Gain = "norm",
    n_lists: int | None = None,
) -> Codes:
    """The codes of a trained table: planes for every depth, gains for the rows of a menu.

    All but the gains is the same whatever the rows are.

    Args:
        table: trained and grouped, its score aligned, in blocks of 8 numbers.
        bounds: (G + 1,) where each group's items begin, and V.
        rows: (R, N) depths, 0 to 8; rows that come twice or keep nothing are left out.
        rng: draws the rotations inside blocks, and what words are fitted to.
        gain: how gains are made, `norm`, `product` or `projection` (see `coding.gains`).
        n_lists: K, lists of words; by default what the catalogue can pay for.
    """
    bounds = np.asarray(bounds, dtype=np.int64)
    _check(table, bounds)
    inside = rotation_inside_blocks(table.n_blocks, BLOCK, rng)
    rotation = (energy_rotation(table) @ inside).astype(np.float32)
    rest = table.items @ rotation  # (V, D)
    means = _take_off_means(rest, bounds)
    K = word_lists(table.n_items, table.n_blocks) if n_lists is None else n_lists
    if not 0 <= K <= table.n_blocks:
        raise InputError(
            f"{K} lists of words, expected 0 to {table.n_blocks}, at most one per block"
        )
    codes = Codes(
        means=means,
        person=(_unknown_person(table) @ rotation).astype(np.float16),
        rotation=rotation,
        bounds=bounds,
        rows=_distinct(rows, table.n_blocks),
        gains=np.zeros((0, len(rest)), dtype=np.uint8),
        gain_values=np.ones(256, dtype=np.float32),
        **_coded(rest, K, rng),
    )
    codes = _with_gains(codes, rest, gain)
    log.info(
        "%d items in %d blocks coded, %d lists of words, %d rows",
        len(rest), table.n_blocks, K, len(codes.rows),
    )  # fmt: skip
    return codes


def _check(table: BlockTable, bounds: np.ndarray) -> None:
    """Nothing, or an error about a table that cannot be coded or groups that are not its own."""
    if table.score != "aligned":
        raise InputError(
            f"a table with {table.score} scores cannot be coded: coding turns vectors, and only "
            "aligned scores stay as they are"
        )
    if table.block_size != BLOCK:
        raise InputError(f"blocks of {table.block_size} numbers cannot be coded, expected {BLOCK}")
    rising = len(bounds) > 1 and bounds[0] == 0 and (np.diff(bounds) > 0).all()
    if not rising or bounds[-1] != table.n_items:
        raise InputError(
            f"group bounds {bounds[:3].tolist()} … {bounds[-1:].tolist()}, expected them to rise "
            f"from 0 to the {table.n_items} items"
        )
    for noun, vectors in (("item", table.items), ("user", table.users)):
        if vectors is None:
            continue
        largest = np.abs(vectors).max(initial=0)
        if not largest <= _LARGEST:  # NaN is no more than anything
            raise InputError(
                f"{noun} vectors hold {largest}, expected finite numbers up to {_LARGEST:g}"
            )


def _distinct(rows: np.ndarray, n_blocks: int) -> np.ndarray:
    """(R, N) uint8 rows of depths that keep something, each once, in the order they came."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != n_blocks:
        raise InputError(f"rows of depths have shape {rows.shape}, expected (rows, {n_blocks})")
    if rows.size and not 0 <= rows.min() <= rows.max() <= PLANES:
        raise InputError(f"depths from {rows.min()} to {rows.max()}, expected 0 to {PLANES}")
    kept = dict.fromkeys(tuple(row) for row in rows.tolist() if any(row))
    return np.array(list(kept), dtype=np.uint8).reshape(-1, n_blocks)


def _take_off_means(vectors: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """(G, D) float16 group means, which are taken off the vectors (V, D) in place."""
    means = np.empty((len(bounds) - 1, vectors.shape[1]), dtype=np.float16)
    for g, (start, stop) in enumerate(pairwise(bounds)):
        means[g] = vectors[start:stop].mean(axis=0, dtype=np.float64)
        vectors[start:stop] -= means[g].astype(np.float32)
    return means


def _spreads(blocks: np.ndarray) -> np.ndarray:
    """(N,) float32 root mean squares of each block's numbers (V, N, 8)."""
    total = np.zeros(blocks.shape[1])
    for start in range(0, len(blocks), _ITEMS_AT_ONCE):
        part = blocks[start : start + _ITEMS_AT_ONCE].astype(np.float64)
        total += (part * part).sum(axis=(0, 2))
    return np.sqrt(total / (len(blocks) * BLOCK)).astype(np.float32)


def _coded(rest: np.ndarray, n_lists: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Planes (N, 8, V), scales (N, 3), the 36 steps, words and letters of vectors (V, D)."""
    V, D = rest.shape
    planes = np.zeros((D // BLOCK, PLANES, V), dtype=np.uint8)
    scales = np.zeros((D // BLOCK, 3), dtype=np.float32)
    first = np.zeros(D // BLOCK, dtype=np.int64)  # plane of signs
    words, letters = np.empty((0, LIST, D), dtype=np.int8), np.empty((0, BLOCK), dtype=np.int8)
    if n_lists:
        rest = rest.copy()
        worded_ = worded(rest, n_lists, rng)
        planes[:n_lists, 0], scales[:n_lists, 0] = worded_.bytes, worded_.scales
        spelt_ = spelt(rest, _spreads(rest.reshape(V, -1, BLOCK)), rng)
        first[:n_lists] = 1
        planes[np.arange(len(first)), first], scales[:, 1] = spelt_.bytes, spelt_.scales
        words, letters, first = worded_.words, spelt_.letters, first + 1
    blocks = rest.reshape(V, -1, BLOCK)
    scales[:, 2] = _spreads(blocks)
    steps = _sign(blocks, scales[:, 2], planes, first)
    return {"planes": planes, "scales": scales, "steps": steps, "words": words, "letters": letters}


def _sign(
    blocks: np.ndarray, spreads: np.ndarray, planes: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """The steps that fit signs of numbers (V, N, 8); their planes (N, 8, V) are written.

    Args:
        first: (N,) the first plane of signs of each block; the last signs may have no place.
    """
    moments, products = np.zeros((PLANES, PLANES)), np.zeros(PLANES)
    scale = np.where(spreads > 0, spreads, 1)[:, None]
    for start in range(0, len(blocks), _ITEMS_AT_ONCE):
        part = blocks[start : start + _ITEMS_AT_ONCE]
        columns = sign_planes(part / scale)  # (8, n, N)
        for n, p in enumerate(first.tolist()):
            planes[n, p:, start : start + len(part)] = columns[: PLANES - p, :, n]
        signs = (SIGNS[columns] * spreads[:, None]).reshape(PLANES, -1)  # ±σ: large errors count
        moments += signs @ signs.T
        products += signs @ part.reshape(-1)
    return fit_steps(moments, products)


def _with_gains(codes: Codes, originals: np.ndarray, kind: Gain) -> Codes:
    """The codes with the gains of all their rows, from what was coded (V, D)."""
    shape = (len(codes.rows), codes.n_items)
    squares, kept, products = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    whole = np.zeros(codes.n_items)
    for start in range(0, codes.n_items, _ITEMS_AT_ONCE):
        part = originals[start : start + _ITEMS_AT_ONCE]
        here = np.s_[start : start + len(part)]
        by_block = np.square(part).reshape(len(part), -1, BLOCK).sum(axis=2)  # (n, N)
        whole[here] = by_block.sum(axis=1)
        for row, depths in enumerate(codes.rows):
            copy = codes.copies(depths, start, start + len(part))
            wide = depths[: codes.n_lists].any()  # words say something of every block
            squares[row, here] = whole[here] if wide else by_block[:, depths > 0].sum(axis=1)
            kept[row, here] = np.einsum("vj,vj->v", copy, copy)
            products[row, here] = np.einsum("vj,vj->v", copy, part)
    gains, values = gain_bytes(row_gains(squares, whole, kept, products, kind))
    return replace(codes, gains=gains, gain_values=values)


def _unknown_person(table: BlockTable) -> np.ndarray:
    """(D,) the mean unit user; without users, what a history of all items gives."""
    if table.users is not None:
        lengths = np.linalg.norm(table.users, axis=1, keepdims=True)
        return np.asarray((table.users / np.maximum(lengths, 1e-12)).mean(axis=0, dtype=np.float64))
    lengths = np.linalg.norm(table.items, axis=1, keepdims=True)
    mean = (table.items / np.maximum(lengths, 1e-12)).mean(axis=0, dtype=np.float64)
    mean /= max(float(np.linalg.norm(mean)), 1e-12)
    return mean if table.fold_map is None else mean @ table.fold_map
