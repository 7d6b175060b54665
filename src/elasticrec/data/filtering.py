"""Filtering: leave out users and items with too few interactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.errors import InputError

log = logging.getLogger(__name__)

LIMITS = (10, 5, 2)
"""Smallest numbers of interactions to try; the first is the paper's."""


def keep_frequent(
    interactions: Interactions, limits: Sequence[int] = LIMITS, *, least_kept: float = 0.5
) -> Interactions:
    """The largest part in which every user and every item has enough interactions.

    Leaving out an item may bring a user below the limit and the other way round, so this is
    repeated until nothing changes. Those left are renumbered in the same order. The effect of
    each round is logged.

    Args:
        limits: smallest numbers per user and per item; the first that keeps enough is taken,
            else the last.
        least_kept: share of the interactions that is enough.
    """
    pairs, name = interactions.pairs, interactions.name
    for limit in limits:
        kept = _core(pairs, limit)
        if len(kept) >= least_kept * len(pairs):
            break
    if not len(kept):
        raise InputError(
            f"{name}: nothing is left after filtering, expected users and items with at least "
            f"{limit} interactions (most found: {pairs.per_user.max(initial=0)} per user, "
            f"{pairs.per_item.max(initial=0)} per item)"
        )
    return _restricted(interactions, kept)


def _core(pairs: Pairs, limit: int) -> np.ndarray:
    """Places of the pairs that are left when each user and item has at least `limit` of them."""
    kept, users, items = np.arange(len(pairs)), pairs.users, pairs.items
    while len(kept):
        rare_user = np.bincount(users, minlength=pairs.n_users)[users] < limit
        rare_item = np.bincount(items, minlength=pairs.n_items)[items] < limit
        rare = rare_user | rare_item
        if not rare.any():
            break
        log.info(
            "fewer than %d interactions: %s users and %s items, "
            "left out with %s of %s interactions",
            limit, f"{len(np.unique(users[rare_user])):,}", f"{len(np.unique(items[rare_item])):,}",
            f"{np.count_nonzero(rare):,}", f"{len(rare):,}",
        )  # fmt: skip
        kept, users, items = kept[~rare], users[~rare], items[~rare]
    return kept


def _restricted(interactions: Interactions, kept: np.ndarray) -> Interactions:
    """Only the pairs at `kept`, and only their users and items, renumbered in order."""
    whole = interactions.pairs
    old_users, new_users = np.unique(whole.users[kept], return_inverse=True)
    old_items, new_items = np.unique(whole.items[kept], return_inverse=True)
    log.info(
        "%s: kept %s of %s users, %s of %s items, %s of %s interactions", interactions.name,
        f"{len(old_users):,}", f"{np.count_nonzero(whole.per_user):,}",
        f"{len(old_items):,}", f"{np.count_nonzero(whole.per_item):,}",
        f"{len(kept):,}", f"{len(whole):,}",
    )  # fmt: skip
    pairs = Pairs.from_arrays(
        new_users,
        new_items,
        n_users=len(old_users),
        n_items=len(old_items),
        order=None if whole.order is None else whole.order[kept],
    )
    return replace(
        interactions,
        pairs=pairs,
        user_ids=interactions.user_ids.take(old_users),
        item_ids=interactions.item_ids.take(old_items),
        times=None if interactions.times is None else interactions.times[kept],
        titles=None if interactions.titles is None else interactions.titles[old_items],
    )
