"""K-means, the one of the package: codebooks and clusters of items come from it."""

from __future__ import annotations

import numpy as np

_POINTS_AT_ONCE = 1 << 13


def kmeans(points: np.ndarray, n: int, rng: np.random.Generator, *, rounds: int = 20) -> np.ndarray:
    """(n, d) centres among points (m, d), from points drawn at random.

    A centre that no point is next to moves to a point drawn anew.
    """
    centres = points[rng.permutation(len(points))[np.arange(n) % len(points)]]
    for _ in range(rounds):
        near = nearest(points, centres)
        counts = np.bincount(near, minlength=n)[:, None]
        sums = np.stack([np.bincount(near, column, minlength=n) for column in points.T], axis=1)
        spare = points[rng.integers(len(points), size=n)]
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), spare).astype(np.float32)
    return centres


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(m,) the centre (n, d) next to each point (m, d), the first of equal ones."""
    half = np.einsum("nd,nd->n", centres, centres) / 2
    out = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _POINTS_AT_ONCE):
        part = slice(start, start + _POINTS_AT_ONCE)
        out[part] = (half - points[part] @ centres.T).argmin(axis=1)
    return out
