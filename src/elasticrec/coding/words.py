"""Words: 256 vectors of eight numbers, one of which stands for a block of an item.

A byte of signs says of each of eight numbers whether it is above its mean. A byte that names the
nearest of 256 words says more, since blocks of items are far from evenly spread: the words are the
centres that k-means finds, in whole numbers from -127 to 127.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.coding.signs import BLOCK

WORDS = 256
"""Words of a list: one byte names one."""
ITEMS_PER_LIST = 2_500
"""A catalogue has a list for so many items: lists take less than a byte per item."""
ROUNDS = 20
MOST_POINTS = 64 * WORDS
"""Blocks that a list is fitted to; more change little."""
_POINTS_AT_ONCE = 1 << 13
_LARGEST = 127


def word_lists(n_items: int, n_blocks: int) -> int:
    """K: how many lists a catalogue of so many items can pay for, at most one per block."""
    return min(n_blocks, n_items // ITEMS_PER_LIST)


@dataclass(frozen=True, eq=False)
class Worded:
    """Blocks of items as words."""

    words: np.ndarray
    """(K, 256, 8) int8."""
    scales: np.ndarray
    """(N,) float32: by what a block's words are multiplied."""
    bytes: np.ndarray
    """(N, V) uint8: the word that stands for a block of an item."""


def worded(
    blocks: np.ndarray, spreads: np.ndarray, n_lists: int, rng: np.random.Generator
) -> Worded:
    """The first blocks by words of their own, the rest by one common list, the last.

    Args:
        blocks: (V, N, 8) numbers about their means.
        spreads: (N,) root mean squares of the blocks' numbers.
        n_lists: K, 1 to N.
        rng: draws the blocks that words are fitted to.
    """
    V, N = blocks.shape[:2]
    scale = np.where(spreads > 0, spreads, 1).astype(np.float32)
    words = np.empty((n_lists, WORDS, BLOCK), dtype=np.int8)
    steps = np.empty(n_lists, dtype=np.float32)
    for k in range(n_lists):
        served = np.arange(k, N if k == n_lists - 1 else k + 1)
        each = -(-MOST_POINTS // len(served))
        points = np.concatenate([blocks[_some(V, each, rng), n] / scale[n] for n in served])
        centres = centres_of(points, rng)
        steps[k] = np.abs(centres).max(initial=0) / _LARGEST or 1.0
        words[k] = np.rint(centres / steps[k])
    lists = np.minimum(np.arange(N), n_lists - 1)
    scales = (scale * steps[lists]).astype(np.float32)
    bytes_ = np.empty((N, V), dtype=np.uint8)
    for n, k in enumerate(lists):
        bytes_[n] = nearest(blocks[:, n] / scales[n], words[k].astype(np.float32))
    return Worded(words, scales, bytes_)


def centres_of(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(256, 8) centres that k-means finds among points (n, 8), from points drawn at random.

    A centre that no point is next to moves to a point drawn anew.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    centres = points[rng.permutation(len(points))[np.arange(WORDS) % len(points)]]
    for _ in range(ROUNDS):
        near = nearest(points, centres)
        counts = np.bincount(near, minlength=WORDS)
        sums = np.stack([np.bincount(near, column, minlength=WORDS) for column in points.T], axis=1)
        spare = points[rng.integers(len(points), size=WORDS)]
        means = sums / np.maximum(counts, 1)[:, None]
        centres = np.where(counts[:, None] > 0, means, spare).astype(np.float32)
    return centres


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n,) uint8 the centre (256, 8) next to each point (n, 8), some points at a time."""
    half = np.einsum("vj,vj->v", centres, centres) / 2
    found = np.empty(len(points), dtype=np.uint8)
    for start in range(0, len(points), _POINTS_AT_ONCE):
        part = points[start : start + _POINTS_AT_ONCE]
        found[start : start + len(part)] = (half - part @ centres.T).argmin(axis=1)
    return found


def _some(n: int, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers below n, each once: so many of them, or all."""
    return rng.permutation(n)[:wanted]
