"""Words: vectors as long as an item's, a few of which add up to a rough copy of it.

The first planes of the first blocks look beyond their blocks: each is a byte that names two words,
one of 16 and one of 16 others, for what the bytes before it left over of the whole vector. Items
lie in clusters, so whole words say more in a few bytes than any eight numbers do. What all words
leave over of a block is then written by a letter, the nearest of 256 vectors of eight numbers that
serve all blocks. Words are what k-means and then least squares find, letters what k-means finds, in
whole numbers from -127 to 127.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.compression.signs import BLOCK

HALF = 16
"""Words that half a byte names one of."""
LIST = 2 * HALF
"""Words of a list: one byte names two."""
FEWEST = 4
"""Lists of words that are worth their bytes together; a table of fewer blocks has one per block."""
LETTERS = 256
"""Letters: one byte names one."""
POINTS = 1 << 14
"""Items that a list is fitted to; more change little."""
ROUNDS, JOINT_ROUNDS = 20, 8
"""Rounds of k-means, and of fitting both halves of a list together."""
_ITEMS_AT_ONCE = 1 << 13
_LARGEST = 127
_RIDGE = 1e-3
"""Of least squares, in items: it settles how far each half reaches."""


def word_lists(n_items: int, n_blocks: int) -> int:
    """K: how many lists a catalogue of so many items can pay for, at most one per block.

    All lists together take no more than a byte per item. Catalogues that pay for few have none:
    on goodbooks (8,828 books, two lists) small files are mostly lists, and validation promised more
    without them at every size.
    """
    found = min(n_blocks, n_items // (LIST * BLOCK * n_blocks))
    return found if found >= min(FEWEST, n_blocks) else 0


@dataclass(frozen=True, eq=False)
class Worded:
    """Items as words."""

    words: np.ndarray
    """(K, 32, D) int8."""
    scales: np.ndarray
    """(K,) float32: by what a list's words are multiplied."""
    bytes: np.ndarray
    """(K, V) uint8: the first word in the low half of a byte, the second in the high one."""


def worded(vectors: np.ndarray, n_lists: int, rng: np.random.Generator) -> Worded:
    """Vectors as sums of words; what these leave over stays in `vectors`.

    Args:
        vectors: (V, D) float32 about their means.
        n_lists: K.
        rng: draws the items that words are fitted to.
    """
    V, D = vectors.shape
    words = np.empty((n_lists, LIST, D), dtype=np.int8)
    scales = np.empty(n_lists, dtype=np.float32)
    bytes_ = np.empty((n_lists, V), dtype=np.uint8)
    for k in range(n_lists):
        found = _fitted(vectors[rng.permutation(V)[:POINTS]], rng)
        scales[k] = np.abs(found).max(initial=0) / _LARGEST or 1.0
        words[k] = np.rint(found / scales[k])
        sums = pair_sums(words[k]) * scales[k]
        for start in range(0, V, _ITEMS_AT_ONCE):
            part = vectors[start : start + _ITEMS_AT_ONCE]
            near = nearest(part, sums)
            bytes_[k, start : start + len(part)] = near
            part -= sums[near]
    return Worded(words, scales, bytes_)


@dataclass(frozen=True, eq=False)
class Spelt:
    """Blocks of items as letters."""

    letters: np.ndarray
    """(256, 8) int8."""
    scales: np.ndarray
    """(N,) float32: by what a block's letters are multiplied."""
    bytes: np.ndarray
    """(N, V) uint8."""


def spelt(vectors: np.ndarray, spreads: np.ndarray, rng: np.random.Generator) -> Spelt:
    """Blocks as letters; what these leave over stays in `vectors`.

    Args:
        vectors: (V, D) float32 about their means.
        spreads: (N,) root mean squares of the blocks' numbers.
        rng: draws the blocks that letters are fitted to.
    """
    blocks = vectors.reshape(len(vectors), -1, BLOCK)  # (V, N, 8), the same memory
    V, N = blocks.shape[:2]
    scale = np.where(spreads > 0, spreads, 1).astype(np.float32)
    drawn = rng.permutation(V * N)[:POINTS]
    points = blocks[drawn // N, drawn % N] / scale[drawn % N, None]
    centres = _centres(points, LETTERS, rng)
    step = np.abs(centres).max(initial=0) / _LARGEST or 1.0
    letters = np.rint(centres / step).astype(np.int8)
    scales = (np.where(spreads > 0, spreads, 0) * step).astype(np.float32)  # nothing stays so
    bytes_ = np.empty((N, V), dtype=np.uint8)
    for n in range(N):
        read = letters.astype(np.float32) * scales[n]
        for start in range(0, V, _ITEMS_AT_ONCE):
            part = blocks[start : start + _ITEMS_AT_ONCE, n]
            near = nearest(part, read)
            bytes_[n, start : start + len(part)] = near
            part -= read[near]
    return Spelt(letters, scales, bytes_)


def pair_sums(words: np.ndarray) -> np.ndarray:
    """(256, D) float32: the sum of two words of a list (32, D) that each byte names."""
    words = words.astype(np.float32)
    return np.asarray((words[:HALF] + words[HALF:, None]).reshape(HALF * HALF, -1))


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n,) the centre (m, D) next to each point (n, D), the first of equal ones."""
    half = np.einsum("vj,vj->v", centres, centres) / 2
    return np.asarray((half - points @ centres.T).argmin(axis=1))


def _fitted(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(32, D) words whose sums of two come near to points (n, D)."""
    first = _centres(points, HALF, rng)
    second = _centres(points - first[nearest(points, first)], HALF, rng)
    words = np.concatenate([first, second])
    for _ in range(JOINT_ROUNDS):
        near = nearest(points, pair_sums(words))
        named = np.zeros((len(points), LIST), dtype=np.float32)
        named[np.arange(len(points)), near % HALF] = 1
        named[np.arange(len(points)), HALF + near // HALF] = 1
        counts = named.T @ named + _RIDGE * np.eye(LIST, dtype=np.float32)
        words = np.linalg.solve(counts, named.T @ points + _RIDGE * words).astype(np.float32)
    return words


def _centres(points: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, d) centres that k-means finds among points (m, d), from points drawn at random.

    A centre that no point is next to moves to a point drawn anew.
    """
    centres = points[rng.permutation(len(points))[np.arange(n) % len(points)]]
    for _ in range(ROUNDS):
        near = nearest(points, centres)
        counts = np.bincount(near, minlength=n)[:, None]
        sums = np.stack([np.bincount(near, column, minlength=n) for column in points.T], axis=1)
        spare = points[rng.integers(len(points), size=n)]
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), spare).astype(np.float32)
    return centres
