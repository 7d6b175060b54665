"""Users and items with too few interactions, left out."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from elasticrec.errors import InputError
from elasticrec.data.interactions import Interactions, Pairs

log = logging.getLogger(__name__)

MIN_INTERACTIONS = 10
"""The paper's smallest number of interactions per user and per item."""


def keep_frequent(
    interactions: Interactions,
    *,
    per_user: int = MIN_INTERACTIONS,
    per_item: int = MIN_INTERACTIONS,
) -> Interactions:
    """The largest part in which every user and every item has enough interactions.

    Leaving out an item may bring a user below the limit and the other way round, so this is
    repeated until nothing changes. Those left are renumbered in the same order.
    """
    pairs = interactions.pairs
    kept = np.arange(len(pairs))
    users, items = pairs.users, pairs.items
    while len(kept):
        enough = np.bincount(users, minlength=pairs.n_users)[users] >= per_user
        enough &= np.bincount(items, minlength=pairs.n_items)[items] >= per_item
        if enough.all():
            break
        kept, users, items = kept[enough], users[enough], items[enough]
    if not len(kept):
        raise InputError(
            f"{interactions.name}: nothing is left after filtering, expected users with at least "
            f"{per_user} interactions on items with at least {per_item} (most found: "
            f"{pairs.per_user.max(initial=0)} and {pairs.per_item.max(initial=0)})"
        )
    return _restricted(interactions, kept, users, items)


def _restricted(
    interactions: Interactions, kept: np.ndarray, users: np.ndarray, items: np.ndarray
) -> Interactions:
    """Only the pairs at `kept`, and only their users and items, renumbered in order."""
    old_users, new_users = np.unique(users, return_inverse=True)
    old_items, new_items = np.unique(items, return_inverse=True)
    log.info(
        "%s: kept %d of %d pairs, %d of %d users, %d of %d items", interactions.name,
        len(kept), len(interactions.pairs), len(old_users), len(interactions.user_ids),
        len(old_items), len(interactions.item_ids),
    )  # fmt: skip
    return replace(
        interactions,
        pairs=Pairs.from_arrays(
            new_users, new_items, n_users=len(old_users), n_items=len(old_items)
        ),
        user_ids=interactions.user_ids.take(old_users),
        item_ids=interactions.item_ids.take(old_items),
        times=None if interactions.times is None else interactions.times[kept],
        titles=None if interactions.titles is None else interactions.titles[old_items],
    )
