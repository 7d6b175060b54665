"""The scores of blocks and users: `tiled` (Eq. 2 as printed) and `aligned`.

Read literally, Eq. 2 repeats each block N times, so a score is the product of two d-vectors
whatever is kept: `tiled`. `aligned` lets block n of the item meet block n of the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.training.table import BlockTable, Score


def effective(
    table: BlockTable, per_item: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Users and items as two plain matrices whose product is the table's score.

    (U, D) and (V, D) for `aligned`, (U, d) and (V, d) for `tiled`; users are None for `history`.
    """
    users = np.zeros((0, table.dimensions), np.float32) if table.users is None else table.users
    folded = fold_users(users, table.block_size, table.score)
    items = table.items if table.score == "aligned" else table.blocks.sum(axis=1)
    if table.popularity_exponent:
        if per_item is None:
            raise InputError(
                f"scores depend on popularity to the power {table.popularity_exponent}; "
                "expected the popularity of each item"
            )
        items = items * popularity_factors(per_item, table.popularity_exponent)[:, None]
    return (None if table.users is None else folded), items


def popularity_factors(per_item: np.ndarray, exponent: float) -> np.ndarray:
    """(V,) float32, at most 1: ((popularity + 1) / (the largest + 1))^exponent."""
    shares = (per_item + 1.0) / (per_item.max(initial=0) + 1.0)
    return np.asarray(shares**exponent, dtype=np.float32)


def fold_users(users: np.ndarray, block_size: int, score: Score) -> np.ndarray:
    """User vectors as they meet items: (B, D) as they are, or the sum of their blocks (B, d)."""
    if score == "aligned":
        return users
    n_blocks = users.shape[1] // block_size  # numpy cannot infer -1 from no users
    return users.reshape(len(users), n_blocks, block_size).sum(axis=1)
