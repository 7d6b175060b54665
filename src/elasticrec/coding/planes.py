"""Coding: a trained table becomes byte planes once, whatever compositions follow.

All vectors are turned (by energy, then at random inside each block), and the mean of each item's
group is taken off. What is left of a block, eight numbers, is written as the nearest of 256 words,
where the catalogue is large enough to pay for them; what that leaves, or all of it, is divided by
its spread and written as signs, the coarsest first. One plane of a block is one byte per item.
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
from elasticrec.coding.words import WORDS, word_lists, worded
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
    blocks = rest.reshape(-1, table.n_blocks, BLOCK)
    K = word_lists(table.n_items, table.n_blocks) if n_lists is None else n_lists
    if not 0 <= K <= table.n_blocks:
        raise InputError(f"{K} lists of words, expected 0 to {table.n_blocks}, one per block")
    planes, scales, steps, words = _coded(blocks, K, rng)
    codes = Codes(
        planes=planes,
        means=means,
        person=(_unknown_person(table) @ rotation).astype(np.float16),
        scales=scales,
        steps=steps,
        words=words,
        rotation=rotation,
        bounds=bounds,
        rows=_distinct(rows, table.n_blocks),
        gains=np.zeros((0, len(rest)), dtype=np.uint8),
        gain_values=np.ones(256, dtype=np.float32),
    )
    codes = _with_gains(codes, blocks, gain)
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


def _coded(
    blocks: np.ndarray, n_lists: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Planes (N, 8, V), scales (N, 2), the 36 steps and words (K, 256, 8) of numbers (V, N, 8)."""
    V, N = blocks.shape[:2]
    planes = np.empty((N, PLANES, V), dtype=np.uint8)
    spreads = _spreads(blocks)
    if not n_lists:
        steps = _sign(blocks, spreads, planes)
        words = np.empty((0, WORDS, BLOCK), dtype=np.int8)
        return planes, np.stack([spreads, spreads], axis=1), steps, words
    found = worded(blocks, spreads, n_lists, rng)
    planes[:, 0] = found.bytes
    rest = np.empty_like(blocks)
    for n in range(N):
        words = found.words[min(n, n_lists - 1)].astype(np.float32) * found.scales[n]
        rest[:, n] = blocks[:, n] - words[found.bytes[n]]
    spreads = _spreads(rest)
    steps = np.ones(PLANES * (PLANES + 1) // 2, dtype=np.float32)  # words are read as they are
    inner = np.concatenate([np.arange(b) > 0 for b in range(1, PLANES + 1)])
    steps[inner] = _sign(rest, spreads, planes[:, 1:])
    return planes, np.stack([found.scales, spreads], axis=1), steps, found.words


def _sign(blocks: np.ndarray, spreads: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """The steps that fit P planes of signs (N, P, V), which are written, of numbers (V, N, 8)."""
    P = planes.shape[1]
    moments, products = np.zeros((P, P)), np.zeros(P)
    scale = np.where(spreads > 0, spreads, 1)[:, None]
    for start in range(0, len(blocks), _ITEMS_AT_ONCE):
        part = blocks[start : start + _ITEMS_AT_ONCE]
        columns = sign_planes(part / scale)[:P]  # (P, n, N)
        planes[:, :, start : start + len(part)] = columns.transpose(2, 0, 1)
        signs = (SIGNS[columns] * spreads[:, None]).reshape(P, -1)  # ±σ: large errors count
        moments += signs @ signs.T
        products += signs @ part.reshape(-1)
    return fit_steps(moments, products)


def _with_gains(codes: Codes, blocks: np.ndarray, kind: Gain) -> Codes:
    """The codes with the gains of all their rows, from what was coded (V, N, 8)."""
    shape = (len(codes.rows), codes.n_items)
    squares, kept, products = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    whole = np.zeros(codes.n_items)
    for n in range(codes.n_blocks):
        original = blocks[:, n]
        lengths = np.einsum("vj,vj->v", original, original)
        whole += lengths
        squares[codes.rows[:, n] > 0] += lengths
        for depth in set(codes.rows[:, n].tolist()) - {0}:
            copy = codes.copies(n, depth, 0, codes.n_items)
            here = codes.rows[:, n] == depth
            kept[here] += np.einsum("vj,vj->v", copy, copy)
            products[here] += np.einsum("vj,vj->v", copy, original)
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
