"""Additive codebooks: a byte names two of 32 codewords, one of the first 16 and one of the others.

Both halves of a codebook are fitted together by k-means and then least squares. A device looks a
half up by four bits, so that its tables fit into vector registers.
"""

from __future__ import annotations

import numpy as np

from elasticrec.compression.kmeans import kmeans, nearest

HALF = 16
"""Codewords that four bits name one of."""
CODEWORDS = 2 * HALF
"""Codewords of a codebook."""
LARGEST = 127
"""Codewords are whole numbers from -127 to 127."""
_RIDGE = 1e-3
"""Ridge of the least squares, in points: it settles how the two halves share their mean."""


def fit_codewords(
    points: np.ndarray, rng: np.random.Generator, *, rounds: int, start: np.ndarray | None = None
) -> np.ndarray:
    """(32, w) float32 codewords whose sums of two come near to points (n, w).

    Args:
        rounds: alternations of naming codewords and least squares.
        start: (32, w) first codewords; by default k-means finds them.
    """
    if start is None:
        first = kmeans(points, HALF, rng)
        start = np.concatenate([first, kmeans(points - first[nearest(points, first)], HALF, rng)])
    codewords = start
    for _ in range(rounds):
        near = nearest(points, pair_sums(codewords))
        named = np.zeros((len(points), CODEWORDS), dtype=np.float32)
        named[np.arange(len(points)), near % HALF] = 1
        named[np.arange(len(points)), HALF + near // HALF] = 1
        counts = named.T @ named + _RIDGE * np.eye(CODEWORDS, dtype=np.float32)
        right = named.T @ points + _RIDGE * codewords
        codewords = np.linalg.solve(counts, right).astype(np.float32)
    return codewords


def quantized(codewords: np.ndarray) -> tuple[np.ndarray, float]:
    """(32, w) int8 codewords and the number by which they are multiplied."""
    scale = float(np.abs(codewords).max(initial=0)) / LARGEST or 1.0
    return np.rint(codewords / scale).astype(np.int8), scale


def pair_sums(codewords: np.ndarray) -> np.ndarray:
    """(256, w): the sum of the two codewords (32, w) that each byte names."""
    return np.asarray((codewords[:HALF] + codewords[HALF:, None]).reshape(HALF * HALF, -1))
