"""Splitting: parts at random, by each user's last items, by one cut in time, or as published.

A recorded order is used where it is found to be an order in time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.split import Split
from elasticrec.data.spool import Spool, release, stretches
from elasticrec.errors import InputError
from elasticrec.settings import Count, Positive, Settings, Share, Weight

log = logging.getLogger(__name__)

Fractions = tuple[Share, Share, Share]
"""Shares of train, validation and test."""
NO_ORDER = "has neither times nor a recorded order, expected one to split by the last items"


@dataclass(frozen=True, repr=False)
class SequenceConfig(Settings):
    """Limits for the use of a recorded order."""

    least_z: Weight = 4.0
    """Smallest z score of an order that is used."""
    sorted_share: Share = 0.01
    """Share of pairs against their items' usual direction; below it, lists are sorted by a key."""
    least_repeats: Count = 100
    """Repeats of two items side by side that are needed to judge by their direction."""
    shrinkage: Positive = 5.0
    """Users added at the middle of the list when an item's mean place is learnt."""


SEQUENCE = SequenceConfig()


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
    _check_fractions(fractions)
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
    _check_fractions(fractions)
    cuts = _cuts(interactions.times, np.cumsum(fractions)[:2], interactions.name)
    part = Spool(np.int8)
    for rows in stretches(len(interactions.times), interactions.times):
        part.add(np.searchsorted(cuts, interactions.times[rows], side="right"))
    return _parted(interactions, part.array(), "temporal", fractions)


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


def _check_fractions(fractions: Fractions) -> None:
    """Raise an error over shares that do not sum to 1."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions are {fractions}, expected three shares that sum to 1")


def _rounded(amounts: np.ndarray) -> np.ndarray:
    """Each amount as the nearest whole number, halves upward."""
    return np.floor(amounts + 0.5).astype(np.int64)


def informative_order(pairs: Pairs, name: str, config: SequenceConfig = SEQUENCE) -> Pairs:
    """The pairs, without their order if it is sorted by a key or no better than a shuffled one."""
    if pairs.order is None:
        return pairs
    if is_sorted(pairs, config):
        reason = "the recorded order of items is sorted by a fixed key"
    else:
        z = order_z_score(pairs, config)
        if z >= config.least_z:
            log.info("%s: the recorded order of items is used (z = %.1f)", name, z)
            return pairs
        reason = f"the recorded order of items is no better than a shuffled one (z = {z:.1f})"
    log.info("%s: %s, so it is not used", name, reason)
    return replace(pairs, order=None)


def is_sorted(pairs: Pairs, config: SequenceConfig = SEQUENCE) -> bool:
    """True where all users' lists follow one key, such as an id, a title or a popularity.

    Two items next to each other in several lists then stand in the same direction each time,
    and in lists sorted by item number all items rise or all fall.
    """
    users, items = pairs.users, np.concatenate(pairs.history()).astype(np.int64)
    inside = users[1:] == users[:-1]
    older, newer = items[:-1][inside], items[1:][inside]
    if not len(older):
        return True
    rises = older < newer
    if not config.sorted_share <= rises.mean() <= 1 - config.sorted_share:
        return True
    both = np.minimum(older, newer) * pairs.n_items + np.maximum(older, newer)
    _, which, counts = np.unique(both, return_inverse=True, return_counts=True)
    rising = np.bincount(which, weights=rises)
    against = np.minimum(rising, counts - rising)[counts > 1].sum()
    repeats = counts[counts > 1].sum()
    return bool(repeats >= config.least_repeats and against < config.sorted_share * repeats)


def order_z_score(pairs: Pairs, config: SequenceConfig = SEQUENCE) -> float:
    """The z score of the agreement between two halves of the users about the order of items.

    For each user, the places of her items are correlated with the mean places of these items in
    the other half. Over users, shuffled orders have a mean correlation of 0. Both halves give
    nearly the same number, so only half of the users count in the standard error.
    """
    assert pairs.order is not None
    users, n = pairs.users, pairs.per_user
    place = (pairs.rank(pairs.order) + 0.5) / n[users] - 0.5  # mean 0 within each user
    first_half = users % 2 == 0
    expected = np.empty(len(pairs))
    for learn in (first_half, ~first_half):
        sums = np.bincount(pairs.items[learn], place[learn], minlength=pairs.n_items)
        counts = np.bincount(pairs.items[learn], minlength=pairs.n_items)
        expected[~learn] = (sums / (counts + config.shrinkage))[pairs.items[~learn]]

    def of_each(values: np.ndarray) -> np.ndarray:
        """(U,) each user's sum of the values of her pairs."""
        return np.bincount(users, values, minlength=len(n))

    expected -= (of_each(expected) / np.maximum(n, 1))[users]
    spread = of_each(expected**2) * of_each(place**2)
    some = spread > 1e-20
    agreement = of_each(expected * place)[some] / np.sqrt(spread[some])
    if len(agreement) < 2 or not agreement.std():
        return 0.0
    return float(agreement.mean() / agreement.std() * np.sqrt(len(agreement) / 2))
