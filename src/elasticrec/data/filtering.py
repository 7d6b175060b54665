"""Filtering: leave out users and items with too few interactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.errors import InputError

log = logging.getLogger(__name__)


def keep_frequent(
    interactions: Interactions, limits: Sequence[int], *, least_kept: float = 0.5
) -> Interactions:
    """The largest part in which every user and every item has enough interactions.

    Leaving out an item may bring a user below the limit and the other way round, so this is
    repeated until nothing changes. Those left are renumbered in the same order. What is left out
    is logged, as a warning where most users are.

    Args:
        limits: smallest numbers per user and per item; the first that keeps enough is taken,
            else the last.
    """
    pairs, name = interactions.pairs, interactions.name
    for limit in limits:
        kept, rounds = _core(pairs, limit)
        if len(kept) >= least_kept * len(pairs):
            break
        if limit != limits[-1]:
            share = 100 * len(kept) / max(len(pairs), 1)
            log.info("%s: users and items with at least %d interactions have only %.0f %% of them, "
                     "so fewer are enough", name, limit, share)  # fmt: skip
    if not len(kept):
        raise InputError(
            f"{name}: nothing is left after filtering, expected users and items with at least "
            f"{limit} interactions (most found: {pairs.per_user.max(initial=0)} per user, "
            f"{pairs.per_item.max(initial=0)} per item)"
        )
    found = _restricted(interactions, kept)
    _log_left_out(interactions, found, limit, rounds)
    return found


def _core(pairs: Pairs, limit: int) -> tuple[np.ndarray, int]:
    """Places of the pairs that are left when each user and item has at least `limit`; rounds."""
    kept, users, items, rounds = np.arange(len(pairs)), pairs.users, pairs.items, 0
    while len(kept):
        rare_user = np.bincount(users, minlength=pairs.n_users)[users] < limit
        rare_item = np.bincount(items, minlength=pairs.n_items)[items] < limit
        rare = rare_user | rare_item
        if not rare.any():
            break
        kept, users, items, rounds = kept[~rare], users[~rare], items[~rare], rounds + 1
    return kept, rounds


def _log_left_out(whole: Interactions, found: Interactions, limit: int, rounds: int) -> None:
    """Say who and what was left out, and what stays."""
    if not rounds:
        log.info("%s: all users and items have at least %d interactions", whole.name, limit)
        return
    parts = []
    for counts in ("per_user", "per_item"):
        n, rest = (int(np.count_nonzero(getattr(each.pairs, counts))) for each in (whole, found))
        parts += [f"{n - rest:,} of {n:,} {'users' if counts == 'per_user' else 'items'}"]
    n, rest = len(whole.pairs), len(found.pairs)
    most = found.pairs.n_users < np.count_nonzero(whole.pairs.per_user) / 2
    log.log(
        logging.WARNING if most else logging.INFO,
        "%s: left out %s with fewer than %d interactions, and with them %s of %s interactions; "
        "%s users, %s items and %s interactions stay (min-interactions sets the number)",
        whole.name, " and ".join(parts), limit, f"{n - rest:,}", f"{n:,}",
        f"{found.pairs.n_users:,}", f"{found.pairs.n_items:,}", f"{rest:,}",
    )  # fmt: skip


def _restricted(interactions: Interactions, kept: np.ndarray) -> Interactions:
    """Only the pairs at `kept`, and only their users and items, renumbered in order."""
    whole = interactions.pairs
    old_users, new_users = np.unique(whole.users[kept], return_inverse=True)
    old_items, new_items = np.unique(whole.items[kept], return_inverse=True)
    pairs = Pairs.from_arrays(
        new_users,
        new_items,
        n_users=len(old_users),
        n_items=len(old_items),
        order=None if whole.order is None else whole.order[kept],
        weights=None if whole.weights is None else whole.weights[kept],
    )
    return replace(
        interactions,
        pairs=pairs,
        user_ids=interactions.user_ids.take(old_users),
        item_ids=interactions.item_ids.take(old_items),
        times=None if interactions.times is None else interactions.times[kept],
        titles=None if interactions.titles is None else interactions.titles[old_items],
    )
