"""Interactions: pairs as a reader gives them with their ids; users and items with too few go."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.pairs import Pairs
from elasticrec.data.spool import Spool, in_ranges, release
from elasticrec.errors import InputError

__all__ = ["Ids", "Interactions", "Pairs", "keep_frequent"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Interactions:
    """The output of a reader: pairs, the ids behind them, times and titles where known."""

    pairs: Pairs
    """The interactions in dense numbers, in order where the source has one."""
    user_ids: Ids
    """(U,) original ids of the users."""
    item_ids: Ids
    """(V,) original ids of the items."""
    times: np.ndarray | None = None
    """(n,) int64 parallel to `pairs.items`: when each pair first happened."""
    titles: np.ndarray | None = None
    """(V,) object array of str: one title per item, "" where unknown."""
    name: str = "data"
    """The name of the data in results and messages."""

    def __repr__(self) -> str:
        counts = f"{len(self.user_ids):,} users, {len(self.item_ids):,} items"
        return f"Interactions({self.name!r}, {counts}, {len(self.pairs):,} interactions)"

    @classmethod
    def of_columns(
        cls,
        users: np.ndarray,
        items: np.ndarray,
        user_ids: Ids,
        item_ids: Ids,
        *,
        times: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        ordered: bool = False,
        name: str = "data",
    ) -> Interactions:
        """Interactions of parallel dense numbers; of duplicates the earliest stays, weights add up.

        Times order the items of a user, equal ones by item number; else `ordered` rows do.
        """
        firsts = Spool(np.int64)

        def parts() -> Iterator[Pairs]:
            columns = [each for each in (users, items, times, weights) if each is not None]
            for span, (own, chosen, *beside) in in_ranges(columns, len(user_ids)):
                weighing = None if weights is None else beside.pop()
                part = Pairs.from_arrays(
                    own - span.start, chosen, n_users=span.stop - span.start, n_items=len(item_ids),
                    order=beside[0] if beside else np.arange(len(own)) if ordered else None,
                    weights=weighing,
                )  # fmt: skip
                if part.order is not None:
                    firsts.add(part.order)
                    part = replace(part, order=part.rank(part.order))
                yield part

        pairs = Pairs.joined(parts(), len(item_ids))
        first = None if times is None else firsts.array()
        return cls(pairs, user_ids, item_ids, times=first, name=name)


def keep_frequent(
    interactions: Interactions, limits: Sequence[int], *, least_kept: float = 0.5
) -> Interactions:
    """The largest part in which every user and every item has enough interactions.

    Leaving out an item may bring a user below the limit and the other way round, so this is
    repeated until nothing changes. The first limit that keeps enough is taken, else the last. What
    is left out is logged, as a warning where most users are.
    """
    pairs, name = interactions.pairs, interactions.name
    for limit in limits:
        users, items, n_kept = _core(pairs, limit)
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
    _log_left_out(interactions, found, limit)
    return found


def _core(pairs: Pairs, limit: int) -> tuple[np.ndarray, np.ndarray, int]:
    """True for users and items that stay when each has at least `limit`, and pairs left."""
    users, items = np.ones(pairs.n_users, dtype=bool), np.ones(pairs.n_items, dtype=bool)
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
            return users, items, int(per_user.sum())


def _log_left_out(whole: Interactions, found: Interactions, limit: int) -> None:
    """Say who and what was left out, and what stays."""
    before, after = (
        [int(np.count_nonzero(n)) for n in (pairs.per_user, pairs.per_item)] + [len(pairs)]
        for pairs in (whole.pairs, found.pairs)
    )
    if before == after:
        log.info("%s: all users and items have at least %d interactions", whole.name, limit)
        return
    users, items, n = (f"{b - a:,} of {b:,}" for b, a in zip(before, after, strict=True))
    log.log(
        logging.WARNING if after[0] < before[0] / 2 else logging.INFO,
        "%s: left out %s users and %s items with fewer than %d interactions, and with them %s "
        "interactions; %s users, %s items and %s interactions stay "
        "(min-interactions sets the number)",
        *(whole.name, users, items, limit, n), *(f"{left:,}" for left in after),
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
