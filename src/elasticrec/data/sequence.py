"""Sequence: decides from the interactions if a recorded order is an order in time."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.data.interactions import Pairs

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SequenceConfig:
    """Limits for the use of a recorded order."""

    least_z: float = 4.0
    """Smallest z score of an order that is used."""
    sorted_share: float = 0.01
    """Share of pairs against their items' usual direction; below it, lists are sorted by a key."""
    least_repeats: int = 100
    """Repeats of two items side by side that are needed to judge by their direction."""
    shrinkage: float = 5.0
    """Users added at the middle of the list when an item's mean place is learnt."""


def informative_order(pairs: Pairs, name: str, config: SequenceConfig | None = None) -> Pairs:
    """The pairs, without their order if it is sorted by a key or no better than a shuffled one."""
    config = config or SequenceConfig()
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


def is_sorted(pairs: Pairs, config: SequenceConfig | None = None) -> bool:
    """True where all users' lists follow one key, such as an id, a title or a popularity.

    Two items next to each other in several lists then stand in the same direction each time,
    and in lists sorted by item number all items rise or all fall.
    """
    config = config or SequenceConfig()
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


def order_z_score(pairs: Pairs, config: SequenceConfig | None = None) -> float:
    """The z score of the agreement between two halves of the users about the order of items.

    For each user, the places of her items are correlated with the mean places of these items in
    the other half. Over users, shuffled orders have a mean correlation of 0. Both halves give
    nearly the same number, so only half of the users count in the standard error.
    """
    config = config or SequenceConfig()
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
