"""Energy-ordering rotation: the first blocks move scores most, and no full score changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elasticrec.training.table import BlockTable


def energy_rotation(table: BlockTable) -> np.ndarray:
    """(D, D) orthogonal matrix whose columns are directions by falling energy, item × user.

    The energy of a direction q is (qᵀAq)(qᵀBq), with A the second moments of items about their
    mean (which never changes a ranking) and B those of users; the directions are eigenvectors of
    (AB + BA)/2, so that the first k of them keep as much of tr(AB), the mean square score, as one
    common rotation of users and items can.
    """
    items = (table.items - table.items.mean(axis=0)).astype(np.float64)
    users = table.items if table.users is None else table.users
    A = items.T @ items / len(items)
    B = _second_moments(users)
    product = A @ B
    _, Q = np.linalg.eigh((product + product.T) / 2)
    energy = ((Q.T @ A) * Q.T).sum(axis=1) * ((Q.T @ B) * Q.T).sum(axis=1)
    Q = Q[:, np.argsort(-energy, kind="stable")]
    # An eigenvector's sign is the library's whim: make its largest number positive.
    largest = Q[np.abs(Q).argmax(axis=0), np.arange(len(Q))]
    return np.asarray(Q * np.sign(largest))


def rotation_inside_blocks(n_blocks: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """(N·size, N·size) orthogonal: a uniformly random rotation of each block, apart from others.

    It makes the numbers of a block alike and near normal, as one code for all of them expects.
    """
    out = np.zeros((n_blocks, size, n_blocks, size))
    for n in range(n_blocks):
        Q, R = np.linalg.qr(rng.normal(size=(size, size)))
        out[n, :, n, :] = Q * np.sign(np.diag(R))  # uniform, and the same for every library
    return out.reshape(n_blocks * size, -1)


def rotated(table: BlockTable, rotation: np.ndarray) -> BlockTable:
    """The table with users and items turned by one orthogonal matrix (D, D)."""
    if table.score != "aligned":
        raise ValueError(f"a {table.score} score changes with a rotation; expected aligned")
    Q = rotation.astype(np.float32)
    fold_map = table.fold_map
    return replace(
        table,
        blocks=(table.items @ Q).reshape(table.blocks.shape),
        users=None if table.users is None else table.users @ Q,
        fold_map=None if fold_map is None else Q.T @ fold_map @ Q,
    )


def _second_moments(vectors: np.ndarray) -> np.ndarray:
    """(D, D) mean outer product, summed in float64 a part at a time."""
    total = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 16):
        part = vectors[start : start + (1 << 16)].astype(np.float64)
        total += part.T @ part
    return total / len(vectors)
