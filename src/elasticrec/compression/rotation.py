"""Energy-ordering rotation: the first blocks move scores most, and no full score changes."""

from __future__ import annotations

import numpy as np


def energy_rotation(items: np.ndarray, users: np.ndarray | None = None) -> np.ndarray:
    """(D, D) orthogonal matrix whose columns are directions by falling energy, item × user.

    The energy of a direction q is (qᵀAq)(qᵀBq), with A the second moments of items about their
    mean (which never changes a ranking) and B those of users; the directions are eigenvectors of
    (AB + BA)/2, so that the first k of them keep as much of tr(AB), the mean square score, as one
    common rotation of users and items can.

    Args:
        items: (V, D).
        users: (U, D); None where users are sums of items.
    """
    A = _second_moments(items - items.mean(axis=0))
    B = _second_moments(items if users is None else users)
    product = A @ B
    _, Q = np.linalg.eigh((product + product.T) / 2)
    energy = ((Q.T @ A) * Q.T).sum(axis=1) * ((Q.T @ B) * Q.T).sum(axis=1)
    Q = Q[:, np.argsort(-energy, kind="stable")]
    # The sign of an eigenvector is up to the solver: make its largest number positive.
    largest = Q[np.abs(Q).argmax(axis=0), np.arange(len(Q))]
    return np.asarray(Q * np.sign(largest), dtype=np.float32)


def _second_moments(vectors: np.ndarray) -> np.ndarray:
    """(D, D) mean outer product, summed in float64 a part at a time."""
    total = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 16):
        part = vectors[start : start + (1 << 16)].astype(np.float64)
        total += part.T @ part
    return total / len(vectors)
