"""How much each block moves scores: the order in which a menu fills blocks."""

from __future__ import annotations

import numpy as np

from elasticrec.training.table import BlockTable


def block_energy(table: BlockTable, users: np.ndarray | None = None) -> np.ndarray:
    """(N,) mean square of what block n adds to a score, over all pairs of a user and an item.

    It is trace(Cᵤ Cᵥ) of the block's second moments: users (d, d) as they are, items about their
    mean, which never changes a ranking. `tiled` folds the user to the sum of her blocks first.

    Args:
        users: (n, D) vectors to stand for the users; None takes the table's own, or the items of a
            `history` table, whose users are sums of items.
    """
    N, d = table.n_blocks, table.block_size
    vectors = table.users if users is None else users
    vectors = table.items if vectors is None else vectors
    u = vectors.reshape(-1, N, d)  # (n, N, d)
    if table.score == "tiled":
        u = u.sum(axis=1, keepdims=True)  # (n, 1, d): the same user meets every block
    e = table.blocks - table.blocks.mean(axis=0)  # (V, N, d)
    return np.asarray((_second_moments(u) * _second_moments(e)).sum(axis=(1, 2)))


def _second_moments(vectors: np.ndarray) -> np.ndarray:
    """(N, d, d) mean outer product of each block of some vectors (n, N, d)."""
    by_block = np.ascontiguousarray(vectors.transpose(1, 0, 2))  # (N, n, d)
    sums = by_block.transpose(0, 2, 1) @ by_block
    return np.asarray(sums, dtype=np.float64) / len(vectors)


def energy_order(table: BlockTable, users: np.ndarray | None = None) -> np.ndarray:
    """(N,) block numbers by falling energy, ties by number."""
    return np.argsort(-block_energy(table, users), kind="stable")
