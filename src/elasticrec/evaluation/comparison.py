"""Two evaluations of the same users side by side, with a paired t-test for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.evaluation.significance import TTest, paired_t_test

if TYPE_CHECKING:
    from elasticrec.data.split import Split
    from elasticrec.evaluation.questions import Part
    from elasticrec.evaluation.ranking import Evaluation


def compare(
    first: Evaluation, second: Evaluation, splits: tuple[Split, Split], part: Part = "test"
) -> dict[str, TTest]:
    """A paired t-test of first - second for each metric of both, users matched by original id.

    Args:
        first, second: evaluations that kept their per-user values.
        splits: the split of each; users and items may be numbered differently, but the evaluated
            users must have the same relevant items, or the models cannot be compared.
        part: what both were evaluated on.
    """
    if first.per_user is None or second.per_user is None:
        raise InputError("an evaluation without per-user values; expected keep_per_user=True")
    places = _places(first, second, splits, part)
    return {
        name: paired_t_test(values, second.per_user[name][places])
        for name, values in first.per_user.items()
        if name in second.per_user
    }


def _places(
    first: Evaluation, second: Evaluation, splits: tuple[Split, Split], part: Part
) -> np.ndarray:
    """Where the users of the first evaluation stand in the second."""
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
    items = theirs.item_ids.numbers(ours.item_ids.values)[relevant.items]
    same = len(items) == len(wanted) and not np.any(items < 0)
    if same:
        renumbered = Pairs.from_arrays(
            relevant.users, items, n_users=len(users), n_items=theirs.n_items
        )
        same = np.array_equal(renumbered.indptr, wanted.indptr)
        same = same and np.array_equal(renumbered.items, wanted.items)
    if not same:
        raise InputError(
            f"the two models hold out different {part} items; expected models of the same split"
        )
    return places
