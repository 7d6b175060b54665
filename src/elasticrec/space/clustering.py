"""k-means and the first principal components, in numpy, the same for the same seed."""

from __future__ import annotations

import numpy as np

CHUNK = 16384
"""Points whose distances to all centres are in memory at a time."""


def principal_components(points: np.ndarray, n_components: int = 2) -> np.ndarray:
    """(V, n_components) float32 coordinates of points (V, D) along their widest directions.

    The largest entry of each direction is made positive, so that signs do not depend on the solver.
    """
    centred = points - points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    covariance = (centred.T @ centred).astype(np.float64)  # (D, D)
    _, directions = np.linalg.eigh(covariance)
    widest = directions[:, ::-1][:, :n_components]  # (D, n_components)
    peaks = np.take_along_axis(widest, np.abs(widest).argmax(axis=0)[None], axis=0)
    return np.asarray(centred @ (widest * np.sign(peaks)), dtype=np.float32)


def cluster(
    points: np.ndarray, n_clusters: int, rng: np.random.Generator, *, most_rounds: int = 50
) -> np.ndarray:
    """(V,) the cluster of each point by Lloyd's k-means from k-means++ seeds; none is empty.

    It stops when no point changes its cluster, or after `most_rounds`.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    if not 1 <= n_clusters <= len(points):
        raise ValueError(f"{n_clusters} clusters of {len(points)} points, expected 1 to that many")
    squares = np.einsum("vd,vd->v", points, points)
    centres = _spread_seeds(points, squares, n_clusters, rng)
    labels = np.full(len(points), -1)
    sums = np.zeros(centres.shape, dtype=np.float64)
    for _ in range(most_rounds):
        nearest, distances = _nearest(points, squares, centres)
        _fill_empty(nearest, distances, n_clusters)
        moved = np.flatnonzero(nearest != labels)
        if not len(moved):
            break
        for start in range(0, len(moved), CHUNK):
            part = moved[start : start + CHUNK]
            sums += _change(points[part], labels[part], nearest[part], n_clusters)
        labels = nearest
        counts = np.bincount(labels, minlength=n_clusters)
        centres = (sums / counts[:, None]).astype(np.float32)
    return labels


def _spread_seeds(
    points: np.ndarray, squares: np.ndarray, n_clusters: int, rng: np.random.Generator
) -> np.ndarray:
    """(k, D) k-means++ seeds: several points are drawn by squared distance, the best one stays."""
    n_tries = 2 + int(np.log(n_clusters))
    chosen = [int(rng.integers(len(points)))]
    closest = _distances(points, squares, chosen)[0]  # (V,) to the nearest seed
    while len(chosen) < n_clusters:
        reach = np.cumsum(closest, dtype=np.float64)
        tries = np.searchsorted(reach, rng.random(n_tries) * reach[-1], side="right")
        tries = np.minimum(tries, len(points) - 1)  # where only copies of seeds are left
        nearer = np.minimum(closest, _distances(points, squares, tries.tolist()))  # (tries, V)
        best = int(nearer.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(tries[best]))
        closest = nearer[best]
    return points[chosen]


def _distances(points: np.ndarray, squares: np.ndarray, chosen: list[int]) -> np.ndarray:
    """(n, V) squared distance of every point to some of the points, 0 to itself."""
    products = points[chosen] @ points.T
    out: np.ndarray = np.maximum(squares - 2 * products + squares[chosen][:, None], 0)
    out[np.arange(len(chosen)), chosen] = 0
    return out


def _nearest(
    points: np.ndarray, squares: np.ndarray, centres: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(V,) the nearest centre of each point, and (V,) its squared distance."""
    labels = np.empty(len(points), dtype=np.int64)
    distances = np.empty(len(points), dtype=np.float32)
    lengths = np.einsum("kd,kd->k", centres, centres)
    for start in range(0, len(points), CHUNK):
        part = slice(start, start + CHUNK)
        apart = lengths - 2 * points[part] @ centres.T  # (chunk, k)
        labels[part] = apart.argmin(axis=1)
        distances[part] = squares[part] + apart.min(axis=1)
    return labels, distances


def _fill_empty(labels: np.ndarray, distances: np.ndarray, n_clusters: int) -> None:
    """Give each empty cluster the point farthest from its centre, never a cluster's last one."""
    counts = np.bincount(labels, minlength=n_clusters)
    if counts.all():
        return
    farthest = iter(np.argsort(-distances, kind="stable"))
    for empty in np.flatnonzero(counts == 0):
        point = next(p for p in farthest if counts[labels[p]] > 1)
        counts[labels[point]] -= 1
        labels[point] = empty
        counts[empty] = 1


def _change(
    points: np.ndarray, before: np.ndarray, after: np.ndarray, n_clusters: int
) -> np.ndarray:
    """(k, D) what each cluster's sum gains when points leave one cluster (-1: none) for another."""
    clusters = np.arange(n_clusters)[:, None]
    gains = (after == clusters).astype(np.float32) - (before == clusters)
    return np.asarray(gains @ points)
