"""Synthetic data: a tiny world with known best recommendations, and one of any size."""

from __future__ import annotations

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.split import Split
from elasticrec.data.splitting import split_in_order

OWN_TASTE = 0.8
"""The share of a planted user's items that come from her own clusters."""
OVERDRAW = 1.3
"""Factor of the pairs drawn at first, since some are drawn twice."""


def two_tastes(n_users: int, n_items: int, rng: np.random.Generator) -> Split:
    """A world of two tastes: the first half of the users like exactly the first half of the items.

    The second half like the others. Three fifths of a user's items (at random) are in train, a
    fifth in validation, the rest in test, so the best list is known: what she has not seen of
    her half, before everything else.
    """
    if n_users < 2 or n_items < 6:
        raise ValueError(f"{n_users} users and {n_items} items, expected at least 2 and 6")
    cut = (n_users + 1) // 2, (n_items + 1) // 2
    likes = (np.arange(n_users)[:, None] < cut[0]) == (np.arange(n_items)[None, :] < cut[1])
    users, items = np.nonzero(likes)
    pairs = Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)
    world = Interactions(pairs, Ids.dense(n_users), Ids.dense(n_items), name="two-tastes")
    return split_in_order(world, (0.6, 0.2, 0.2), rng.random(len(pairs)), "random")


def planted_world(
    n_users: int,
    n_items: int,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    n_clusters: int = 50,
    skew: float = 0.8,
) -> Split:
    """A world with planted clusters and popular items, split 70/10/20 per user.

    Every item belongs to one cluster, every user to two; four fifths of her items come from hers,
    the others from anywhere, each time by popularity. As large as Gowalla it takes two seconds.

    Args:
        n_pairs: distinct pairs in all parts together, exactly.
        skew: the item at popularity rank r is drawn in proportion to 1 / r ** skew.
    """
    if not n_users <= n_pairs <= n_users * n_items / 4:
        raise ValueError(f"{n_pairs} pairs, expected {n_users} to {n_users * n_items // 4}")
    keys = _planted_keys((n_users, n_items, n_pairs), min(n_clusters, n_items), skew, rng)
    pairs = Pairs.from_arrays(keys // n_items, keys % n_items, n_users=n_users, n_items=n_items)
    world = Interactions(pairs, Ids.dense(n_users), Ids.dense(n_items), name="planted")
    return split_in_order(world, (0.7, 0.1, 0.2), rng.random(n_pairs), "random")


def _planted_keys(
    sizes: tuple[int, int, int], n_clusters: int, skew: float, rng: np.random.Generator
) -> np.ndarray:
    """(n_pairs,) ascending keys `user * n_items + item` of a planted world."""
    n_users, n_items, n_pairs = sizes
    weight = 1 / np.arange(1, n_items + 1) ** skew
    rng.shuffle(weight)
    cluster = rng.permutation(np.arange(n_items) % n_clusters)
    order = np.argsort(cluster, kind="stable")  # items cluster by cluster
    ends = np.concatenate(([0.0], np.cumsum(weight[order])))
    edges = ends[np.searchsorted(cluster[order], np.arange(n_clusters + 1))]
    homes = rng.integers(n_clusters, size=(n_users, 2))
    activity = np.cumsum(rng.lognormal(sigma=0.8, size=n_users) + 0.3)

    keys = np.zeros(0, dtype=np.int64)
    while len(keys) < n_pairs:
        n = int((n_pairs - len(keys)) * OVERDRAW) + 100
        users = np.searchsorted(activity, rng.random(n) * activity[-1])
        home = homes[users, rng.integers(2, size=n)]
        own = rng.random(n) < OWN_TASTE
        low, high = np.where(own, edges[home], 0.0), np.where(own, edges[home + 1], ends[-1])
        at = np.searchsorted(ends, low + rng.random(n) * (high - low), side="right") - 1
        items = order[np.clip(at, 0, n_items - 1)]
        keys = np.union1d(keys, users * n_items + items)
    return np.sort(rng.choice(keys, size=n_pairs, replace=False, shuffle=False))
