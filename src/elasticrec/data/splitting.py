"""Splitting: parts at random, by each user's last items, by one cut in time, or as published."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.split import Split
from elasticrec.data.spool import Spool, release, stretches
from elasticrec.errors import InputError
from elasticrec.settings import Share

log = logging.getLogger(__name__)

Fractions = tuple[Share, Share, Share]
"""Shares of train, validation and test."""
NO_ORDER = "has neither times nor a recorded order, expected one to split by the last items"


def random_split(
    interactions: Interactions, fractions: Fractions, *, rng: np.random.Generator
) -> Split:
    """A random share of every user's items in each part (the paper's 70/10/20).

    Shares are rounded to the nearest whole number. Everyone has at least one item in test and
    one in train; a small user goes without validation items.
    """
    key = Spool(np.float64)
    for rows in stretches(len(interactions.pairs)):
        key.add(rng.random(rows.stop - rows.start))
    return split_in_order(interactions, fractions, key.array(), "random")


def last_split(interactions: Interactions, fractions: Fractions) -> Split:
    """Every user's oldest items in train, the next in validation, her newest in test.

    Shares are rounded as in `random_split`.
    """
    if interactions.pairs.order is None:
        raise InputError(f"{interactions.name}: {NO_ORDER}")
    return split_in_order(interactions, fractions, interactions.pairs.order, "last")


def split_in_order(
    interactions: Interactions, fractions: Fractions, key: np.ndarray, kind: str
) -> Split:
    """A split that gives each user's pairs to train, validation and test by rising key.

    A user's only item stays in train.
    """
    _check_fractions(interactions, fractions)
    pairs = interactions.pairs
    n = pairs.per_user
    most = np.maximum(n - 1, 0)  # one item stays in train
    n_test = np.clip(_rounded(n * fractions[2]), np.minimum(1, most), most)
    n_validation = np.minimum(_rounded(n * fractions[1]), most - n_test)
    part, rank, ends = Spool(np.int8), pairs.rank(key), n - n_test
    for users, at in pairs.blocks():
        late = [rank[at] >= np.repeat((ends - cut)[users], n[users]) for cut in (n_validation, 0)]
        part.add(np.sum(late, axis=0))
        release(rank)
    return _parted(interactions, part.array(), kind, fractions)


def temporal_split(interactions: Interactions, fractions: Fractions) -> Split:
    """One cut in time for all users: train before it, validation until a second one, then test.

    The cuts lie between two different times, next to the shares asked for. A user who comes
    after the first cut has no train items.
    """
    if interactions.times is None:
        raise InputError(f"{interactions.name}: has no times, expected a time column to split by")
    _check_fractions(interactions, fractions)
    cuts = _cuts(interactions.times, np.cumsum(fractions)[:2], interactions.name)
    part = Spool(np.int8)
    for rows in stretches(len(interactions.times), interactions.times):
        part.add(np.searchsorted(cuts, interactions.times[rows], side="right"))
    split = _parted(interactions, part.array(), "temporal", fractions)
    log.info(
        "%s: %.0f %% of the validation and %.0f %% of the test interactions belong to users with "
        "train items", split.name, 100 * known_share(split, split.validation),
        100 * known_share(split, split.test),
    )  # fmt: skip
    return split


def _cuts(times: np.ndarray, shares: np.ndarray, name: str) -> np.ndarray:
    """The two times from which on validation and test run, as near to the shares as can be."""
    cuts, wanted = [], shares * len(times)
    places = np.minimum(wanted.astype(np.int64), len(times) - 1)
    by_place = np.empty(len(times), dtype=np.int64)
    for rows in stretches(len(times), times):
        by_place[rows] = times[rows]
    by_place.partition(places)
    first = by_place[: places[0] + 1].min()
    for place, share in zip(places.tolist(), wanted, strict=True):
        low = by_place[place]
        before, after = np.count_nonzero(by_place < low), np.count_nonzero(by_place <= low)
        if after < len(times) and after - share < share - before:
            low = by_place[place:][by_place[place:] > low].min()
        cuts.append(low)
    if not first < cuts[0] < cuts[1]:
        raise InputError(
            f"{name}: has {len(np.unique(times))} different times, too few for a cut in time "
            "(the splits last and random need none)"
        )
    return np.array(cuts)


def known_share(split: Split, *parts: Pairs) -> float:
    """The share of the pairs of some parts that belong to users with train items."""
    known = split.train.per_user > 0
    n = sum(part.per_user[known].sum() for part in parts)
    return float(n / max(sum(len(part) for part in parts), 1))


def published_split(
    train: Interactions, test: Interactions, *, rng: np.random.Generator, last: bool = False
) -> Split:
    """The published train and test, with an eighth of every user's train items as validation.

    An eighth is rounded to the nearest whole number, so users with fewer than four train items
    give none. A pair of both parts stays in train alone. Where train has an order, test items
    follow it, in their own order if they have one.
    """
    pairs = train.pairs
    if last and pairs.order is None:
        raise InputError(f"{train.name}: {NO_ORDER}")
    newest = -pairs.order if last and pairs.order is not None else rng.random(len(pairs))
    held_out = pairs.rank(newest) < np.repeat(_rounded(pairs.per_user / 8), pairs.per_user)
    repeated = np.isin(test.pairs.keys(), pairs.keys(), assume_unique=True)
    if repeated.any():
        n_repeated = int(repeated.sum())
        log.warning("%s: %d test pairs are also in train, left out of test", train.name, n_repeated)
    return Split(
        pairs.where(~held_out), pairs.where(held_out), _after(pairs, test.pairs).where(~repeated),
        user_ids=train.user_ids, item_ids=train.item_ids, titles=train.titles, name=train.name,
        kind="published-last" if last else "published-random",
    )  # fmt: skip


def by_popularity(split: Split) -> tuple[Split, np.ndarray]:
    """The split with items numbered by falling train popularity, and the old number of each item.

    Items of equal popularity keep their sequence.
    """
    order = np.argsort(-split.train.per_item, kind="stable")
    return split.renumbered(order), order


def _after(train: Pairs, test: Pairs) -> Pairs:
    """The test pairs with places behind those of train; without an order if train has none."""
    if train.order is None:
        return replace(test, order=None)
    rank = test.rank(np.arange(len(test)) if test.order is None else test.order)
    return replace(test, order=rank + train.per_user.astype(np.int32)[test.users])


def _parted(interactions: Interactions, part: np.ndarray, kind: str, fractions: Fractions) -> Split:
    """The split in which each pair goes to train (0), validation (1) or test (2)."""
    pairs, shares = interactions.pairs, (f"{100 * share:.0f}" for share in fractions)
    return Split(
        pairs.where(part == 0), pairs.where(part == 1), pairs.where(part == 2),
        user_ids=interactions.user_ids, item_ids=interactions.item_ids, titles=interactions.titles,
        name=interactions.name, kind="-".join([kind, *shares]),
    )  # fmt: skip


def _check_fractions(interactions: Interactions, fractions: Fractions) -> None:
    """Raise an error over shares that do not sum to 1, or where there is nothing to split."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions are {fractions}, expected three shares that sum to 1")
    if not len(interactions.pairs):
        raise InputError(f"{interactions.name}: has no interactions, nothing to split")


def _rounded(amounts: np.ndarray) -> np.ndarray:
    """Each amount as the nearest whole number, halves upward."""
    return np.floor(amounts + 0.5).astype(np.int64)
