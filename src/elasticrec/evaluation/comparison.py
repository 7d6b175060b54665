"""Comparison of two models on the same users: the paired t-test."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import Evaluation, Part


@dataclass(frozen=True)
class TTest:
    """Two-sided paired t-test of the hypothesis that the mean difference is zero."""

    difference: float
    """Mean of a - b: positive where a is better."""
    deviation: float
    """Standard deviation of the differences, n - 1 in the denominator."""
    t: float
    """difference / (deviation / sqrt(n)); infinite if all users differ by the same amount."""
    p: float
    """Probability of a |t| this large if the two are equally good."""
    n: int
    """Users who were compared."""


def paired_t_test(a: np.ndarray, b: np.ndarray) -> TTest:
    """Test if the values a and b, of the same users in the same order, differ in mean."""
    from scipy.special import stdtr

    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise InputError(
            f"cannot compare per-user values of shapes {a.shape} and {b.shape}; "
            "expected the same users in both, at least two"
        )
    differences = a.astype(np.float64) - b.astype(np.float64)
    n = len(differences)
    difference = float(differences.mean())
    deviation = float(differences.std(ddof=1))
    if np.all(differences == differences[0]):  # no spread: the statistic is a limit
        same = differences[0] == 0
        t = 0.0 if same else inf * np.sign(difference)
        return TTest(difference, 0.0, float(t), 1.0 if same else 0.0, n)
    t = difference / (deviation / sqrt(n))
    return TTest(difference, deviation, t, float(2 * stdtr(n - 1, -abs(t))), n)


def compare(
    first: Evaluation, second: Evaluation, splits: tuple[Split, Split], part: Part = "test"
) -> dict[str, TTest]:
    """A paired t-test of first - second for each metric of both, users matched by original id.

    Args:
        splits: the split of each; users and items may be numbered differently, but the evaluated
            users must have the same relevant items, or the models cannot be compared.
    """
    ours, theirs = splits
    users = theirs.user_ids.numbers(ours.user_ids.take(first.users).values)
    place_of = np.full(theirs.n_users + 1, -1)  # the last stands for unknown users
    place_of[second.users] = np.arange(len(second.users))
    places = place_of[users]
    if len(first.users) != len(second.users) or np.any(places < 0):
        raise InputError(
            f"the two models have {first.n_users:,} and {second.n_users:,} users to evaluate, not "
            "all the same; expected models of the same split"
        )
    relevant: Pairs = getattr(ours, part).rows(first.users)
    wanted: Pairs = getattr(theirs, part).rows(users)
    items = theirs.item_ids.numbers(ours.item_ids.values)[relevant.items]  # -1 where unknown
    width = theirs.n_items + 1
    keys = np.sort(relevant.users.astype(np.int64) * width + items)
    if not np.array_equal(keys, wanted.users.astype(np.int64) * width + wanted.items):
        raise InputError(
            f"the two models hold out different {part} items; expected models of the same split"
        )
    return {
        name: paired_t_test(values, second.per_user[name][places])
        for name, values in first.per_user.items()
        if name in second.per_user
    }
