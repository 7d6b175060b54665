"""Ways to split interactions: per user at random, by time, or as published."""

from __future__ import annotations

import logging

import numpy as np

from elasticrec.errors import InputError
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.split import PARTS, Split

__all__ = ["PARTS", "Split", "published_split", "split_by_time", "split_by_user", "split_in_order"]

log = logging.getLogger(__name__)

FRACTIONS = (0.7, 0.1, 0.2)
"""Shares of train, validation and test, as in the paper."""
VALIDATION_USERS = 5_000
"""How many users of a published split give up an eighth of their train items for validation."""


def split_by_user(
    interactions: Interactions,
    fractions: tuple[float, float, float] = FRACTIONS,
    *,
    rng: np.random.Generator,
) -> Split:
    """A random share of every user's items in each part (the paper's 70/10/20).

    Shares are rounded to the nearest whole number. Everyone has at least one item in test and
    one in train; what a small user lacks is taken from validation.
    """
    _check_splittable(interactions, fractions)
    kind = "random-" + "-".join(f"{100 * share:.0f}" for share in fractions)
    return split_in_order(interactions, fractions, rng.random(len(interactions.pairs)), kind)


def split_by_time(
    interactions: Interactions, fractions: tuple[float, float, float] = FRACTIONS
) -> Split:
    """Every user's earliest items in train, then validation, her latest in test.

    Shares are rounded as in `split_by_user`; equal times go by item number.
    """
    if interactions.times is None:
        raise InputError(f"{interactions.name}: has no times, expected a time column to split by")
    _check_splittable(interactions, fractions)
    _, when = np.unique(interactions.times, return_inverse=True)
    return split_in_order(interactions, fractions, when / (when.max(initial=0) + 1), "temporal")


def published_split(
    train: Interactions,
    test: Interactions,
    *,
    rng: np.random.Generator,
    validation_users: int = VALIDATION_USERS,
    everyone: bool = False,
) -> Split:
    """The published train and test, with a validation eighth taken from train.

    An eighth is rounded to the nearest whole number, so users with fewer than four train items
    give none and are not drawn. A pair of both parts stays in train alone.

    Args:
        validation_users: how many seeded users give an eighth (all of them if fewer exist).
        everyone: take an eighth from every user instead, as the paper does.
    """
    pairs = train.pairs
    eighth = _rounded(pairs.per_user / 8)
    if not everyone:
        willing = np.flatnonzero(eighth)
        chosen = rng.choice(willing, size=min(validation_users, len(willing)), replace=False)
        eighth = np.where(np.isin(np.arange(pairs.n_users), chosen), eighth, 0)
    rank = _rank_within_user(pairs, rng.random(len(pairs)))
    held_out = rank < np.repeat(eighth, pairs.per_user)
    repeated = np.isin(test.pairs.keys(), pairs.keys(), assume_unique=True)
    if repeated.any():
        n_repeated = int(repeated.sum())
        log.warning("%s: %d test pairs are also in train, left out of test", train.name, n_repeated)
    return Split(
        _kept(pairs, ~held_out),
        _kept(pairs, held_out),
        _kept(test.pairs, ~repeated),
        user_ids=train.user_ids,
        item_ids=train.item_ids,
        titles=train.titles,
        name=train.name,
        kind="published",
    )


def split_in_order(
    interactions: Interactions, fractions: tuple[float, float, float], order: np.ndarray, kind: str
) -> Split:
    """A split that gives each user's pairs to the parts by rising `order` (in [0, 1)).

    A user's only item stays in train.
    """
    pairs = interactions.pairs
    n = pairs.per_user
    most = np.maximum(n - 1, 0)  # one item stays in train
    n_test = np.clip(_rounded(n * fractions[2]), np.minimum(1, most), most)
    n_validation = np.minimum(_rounded(n * fractions[1]), most - n_test)
    rank = _rank_within_user(pairs, order)
    n_train = n - n_validation - n_test
    in_train = rank < np.repeat(n_train, n)
    in_test = rank >= np.repeat(n_train + n_validation, n)
    return Split(
        _kept(pairs, in_train),
        _kept(pairs, ~in_train & ~in_test),
        _kept(pairs, in_test),
        user_ids=interactions.user_ids,
        item_ids=interactions.item_ids,
        titles=interactions.titles,
        name=interactions.name,
        kind=kind,
    )


def _check_splittable(interactions: Interactions, fractions: tuple[float, float, float]) -> None:
    """Nothing, or an error about shares that are none or a user who cannot be split."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions are {fractions}, expected three shares that sum to 1")
    if not len(interactions.pairs):
        raise InputError(f"{interactions.name}: has no interactions, nothing to split")
    single = np.flatnonzero(interactions.pairs.per_user == 1)
    if len(single):
        raise InputError(
            f"{interactions.name}: user {interactions.user_ids.of_number(single[0])!r} has 1 "
            f"interaction ({len(single)} such users), expected at least 2 to split"
        )


def _rounded(amounts: np.ndarray) -> np.ndarray:
    """Each amount as the nearest whole number, halves upward."""
    return np.floor(amounts + 0.5).astype(np.int64)


def _rank_within_user(pairs: Pairs, order: np.ndarray) -> np.ndarray:
    """(n,) each pair's place, from 0, among its user's pairs by rising `order` (in [0, 1))."""
    by_user = np.argsort(pairs.users + order, kind="stable")
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[by_user] = np.arange(len(pairs)) - np.repeat(pairs.indptr[:-1], pairs.per_user)
    return rank


def _kept(pairs: Pairs, chosen: np.ndarray) -> Pairs:
    """The pairs where `chosen` holds, over the same users and items."""
    ends = np.concatenate(([0], np.cumsum(chosen)))[pairs.indptr]
    return Pairs(ends.astype(np.int64), pairs.items[chosen], pairs.n_items)
