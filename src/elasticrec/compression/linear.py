"""A sparse linear item-item model: who votes for an item, and how much, by ridge regression.

Whether a person has item i is explained by which other items she has. A list of k voters shall
explain most, and so shall each beginning of it, since a small file carries only the first ones. So
voters are chosen one at a time: the one that explains most of what those before it left over; those
behind the first sixteen are chosen sixteen at a time, for large files alone carry them. Two
voters that say the same thus never stand in one short list, as they do where each is chosen by its
own co-occurrence. Weights are those of the ridge regression on the whole list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.compression.config import LinearConfig
from elasticrec.data.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.interactions import Pairs
from elasticrec.engine import map_shards, ranges

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_PAIRS_AT_ONCE = 2_000_000
"""Pairs of persons and candidates that are held at once."""
_TARGETS_AT_ONCE = 64
"""Items whose lists are found at once, at most."""


def linear_lists(
    train: Pairs, k: int, config: LinearConfig, *, min_support: int = 1
) -> Cooccurrence:
    """The k voters of each item in the order they were chosen, weights never rising.

    Args:
        min_support: users that must have both an item and its voter.
    """
    from scipy.sparse import diags

    M = max(config.candidates, k)
    nearest = count_cooccurrence(
        train,
        M,
        user_power=config.user_power,
        item_power=config.voter_power,
        min_support=min_support,
    ).items  # (V, M)
    scale = np.maximum(train.per_user, 1) ** -config.user_power  # (U,) what a person counts
    X = (train.csr().astype(np.float64).T @ diags(np.sqrt(scale))).tocsr()  # (V, U)
    ridge = config.ridge * float(scale @ train.per_user) / max(len(train), 1)
    taken = (
        np.append(train.per_item, 0).astype(np.int32)[nearest].sum(axis=1)
    )  # -1 stands for nobody
    costs = np.maximum(taken + train.per_item, _PAIRS_AT_ONCE / _TARGETS_AT_ONCE)
    shared = X, nearest, k, ridge, config
    found = [*map_shards(_voters, ranges(costs, _PAIRS_AT_ONCE), shared, threads=True)]
    items, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Cooccurrence(items, held_back(weights, train, config.target_power))


def _voters(shared: tuple[Any, ...], some: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Voters and weights of a range of targets; ranges share nothing but what is read."""
    (X, nearest, k, ridge, config), (start, stop) = shared, some
    near, M = nearest[start:stop], nearest.shape[1]
    G = shared_weight(X, np.column_stack([near, np.arange(start, stop)]))
    chosen, b = choose_voters(G[:, :M, :M], G[:, :M, M], k, ridge, config)
    voters = np.take_along_axis(np.column_stack([near, np.full(stop - start, -1)]), chosen, 1)
    voters, weights = falling(voters, b)
    return voters.astype(np.int32), weights.astype(np.float32)


def held_back(weights: np.ndarray, train: Pairs, target_power: float) -> np.ndarray:
    """(V, k) float32 weights, those for popular items divided by their popularity to a power."""
    popularity = np.maximum(train.per_item, 1)[:, None]
    return np.asarray(weights / popularity**target_power, dtype=np.float32)


def shared_weight(X: csr_matrix, lists: np.ndarray) -> np.ndarray:
    """(B, m, m): within each list of items, the weight of the persons whom two items share.

    All lists go through one sparse product: each gets columns of its own, so that its block of the
    product is the only one that is not zero.

    Args:
        X: (V, U), square roots of the persons' weights.
        lists: (B, m) item numbers; -1 shares nothing with anything.
    """
    from scipy.sparse import csr_matrix

    (B, m), U = lists.shape, X.shape[1]
    rows = np.maximum(lists, 0).ravel()
    counts = np.where(lists.ravel() >= 0, np.diff(X.indptr)[rows], 0)
    ends = np.concatenate(([0], np.cumsum(counts)))
    at = np.repeat(X.indptr[rows] - ends[:-1], counts) + np.arange(ends[-1])
    columns = X.indices[at] + np.repeat(np.arange(B * m) // m * np.int64(U), counts)
    used, columns = np.unique(columns, return_inverse=True)  # of B · U columns, only these
    stacked = csr_matrix((X.data[at], columns, ends), shape=(B * m, len(used)))
    product = stacked @ stacked.T
    G = np.zeros((B * m, m))
    G[np.repeat(np.arange(B * m), np.diff(product.indptr)), product.indices % m] = product.data
    return G.reshape(B, m, m)


def choose_voters(
    A: np.ndarray, g: np.ndarray, k: int, ridge: float, config: LinearConfig
) -> tuple[np.ndarray, np.ndarray]:
    """(B, k) places of the voters in the order chosen, M where none was left, and their weights.

    Args:
        A: (B, M, M) weight shared by two candidates, by target.
        g: (B, M) weight shared by candidate and target; 0 where there is no candidate.
    """
    B, M = g.shape
    targets = np.arange(B)[:, None]
    A = np.pad(A, ((0, 0), (0, 1), (0, 1)))  # the last candidate is nobody, and explains nothing
    g = np.pad(g, ((0, 0), (0, 1)))
    norms = np.sqrt(np.einsum("bmm->bm", A) + ridge)
    free = g > 0
    left_over = g
    chosen = np.empty((B, 0), dtype=np.int64)
    b = np.empty((B, 0))
    while (n := chosen.shape[1]) < k:
        gain = np.where(free, left_over / norms, 0)
        most = min(1 if n < config.one_by_one else config.together, k - n)
        best = np.argsort(-gain, axis=1, kind="stable")[:, :most]
        best = np.where(np.take_along_axis(gain, best, axis=1) > 0, best, M)
        free[targets, best] = False
        chosen = np.column_stack([chosen, best])
        columns = np.take_along_axis(A, chosen[:, None, :], axis=2)  # (B, M + 1, n + most)
        small = np.take_along_axis(columns, chosen[:, :, None], axis=1) + ridge * np.eye(n + most)
        b = np.linalg.solve(small, np.take_along_axis(g, chosen, axis=1)[..., None])[..., 0]
        left_over = g - (columns @ b[..., None])[..., 0]
    return chosen, b


def falling(voters: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Voters of weight above 0 in their order, -1 behind them, and weights that never rise.

    The order in which voters were chosen is worth more than the last digit of a weight, so a weight
    above the one before it is lowered to it.
    """
    useful = (weights > 0) & (voters >= 0)
    order = np.argsort(~useful, axis=1, kind="stable")
    useful = np.take_along_axis(useful, order, axis=1)
    weights = np.where(useful, np.take_along_axis(weights, order, axis=1), 0)
    voters = np.where(useful, np.take_along_axis(voters, order, axis=1), -1)
    return voters, np.minimum.accumulate(weights, axis=1)
