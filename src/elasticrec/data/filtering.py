"""Filtering: leave out users and items with too few interactions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.spool import Spool, release
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
        users, items, n_kept, rounds = _core(pairs, limit)
        if n_kept >= least_kept * len(pairs):
            break
        if limit != limits[-1]:
            share = 100 * n_kept / max(len(pairs), 1)
            log.info("%s: users and items with at least %d interactions have only %.0f %% of them, "
                     "so fewer are enough", name, limit, share)  # fmt: skip
    if not n_kept:
        raise InputError(
            f"{name}: nothing is left after filtering, expected users and items with at least "
            f"{limit} interactions (most found: {pairs.per_user.max(initial=0)} per user, "
            f"{pairs.per_item.max(initial=0)} per item)"
        )
    found = _restricted(interactions, users, items)
    _log_left_out(interactions, found, limit, rounds)
    return found


def _core(pairs: Pairs, limit: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """True for users and items that stay when each has at least `limit`; pairs left, and rounds."""
    users, items = np.ones(pairs.n_users, dtype=bool), np.ones(pairs.n_items, dtype=bool)
    rounds = 0
    while True:
        per_user, per_item = np.zeros(len(users), np.int64), np.zeros(len(items), np.int64)
        for some, _ in pairs.blocks():
            part = pairs.span(some)
            left = items[part.items] & np.repeat(users[some], part.per_user)
            ends = np.concatenate(([0], np.cumsum(left)))[part.indptr]
            per_user[some] = np.diff(ends)
            per_item += np.bincount(part.items[left], minlength=len(items))
        rare = ((per_user < limit) & (per_user > 0)).any() or (per_item < limit)[per_item > 0].any()
        users, items = per_user >= limit, per_item >= limit
        if not rare:
            return users, items, int(per_user.sum()), rounds
        rounds += 1


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


def _restricted(interactions: Interactions, users: np.ndarray, items: np.ndarray) -> Interactions:
    """Only the pairs of some users and items, True in the arrays, renumbered in order."""
    whole, times = interactions.pairs, Spool(np.int64)
    new_items, n_items = np.cumsum(items, dtype=np.int32) - 1, int(np.count_nonzero(items))

    def part(some: slice, at: slice) -> Pairs:
        old = whole.span(some)
        kept = items[old.items] & np.repeat(users[some], old.per_user)
        if interactions.times is not None:
            times.add(interactions.times[at][kept])
            release(interactions.times)
        left = old.where(kept).rows(np.flatnonzero(users[some]))
        return replace(left, items=new_items[left.items], n_items=n_items)

    return replace(
        interactions,
        pairs=Pairs.joined((part(*block) for block in whole.blocks()), n_items),
        user_ids=interactions.user_ids.take(np.flatnonzero(users)),
        item_ids=interactions.item_ids.take(np.flatnonzero(items)),
        times=None if interactions.times is None else times.array(),
        titles=None if interactions.titles is None else interactions.titles[items],
    )
