"""Questions: what an evaluation asks of a ranking, the same for every way to rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.data.interactions import Pairs
    from elasticrec.data.split import Split

Part = Literal["test", "validation"]
EVEN = 0.25
"""The share of weight that is spread evenly where a split goes by time."""


@dataclass(frozen=True)
class Questions:
    """What an evaluation asks: which items each user may be shown, and which are relevant."""

    users: np.ndarray
    """(n,) numbers of the users asked about: those with relevant items."""
    seen: Pairs
    """n users: the items that each must not be shown."""
    relevant: Pairs
    """n users: the items that each should be shown, at least one."""
    weights: np.ndarray | None = None
    """What each relevant pair counts in a mean, by the pairs' order; None: all alike."""


def questions(split: Split, part: Part = "test", users: np.ndarray | None = None) -> Questions:
    """The users with relevant items in a part; train is hidden, and validation too when testing.

    A relevant item that is hidden all the same can never be shown, and counts as missed.

    Args:
        split: over all users.
        part: whose pairs are relevant.
        users: numbers of those to ask about; by default everyone.
    """
    if part not in ("test", "validation"):
        raise InputError(f"cannot evaluate on part {part!r}; expected test or validation")
    relevant: Pairs = getattr(split, part)
    asked = np.arange(split.n_users) if users is None else np.asarray(users)
    asked = asked[relevant.per_user[asked] > 0]
    if not len(asked):
        raise InputError(f"the {part} part of {split.name!r} holds no item of any user asked for")
    seen = split.train.rows(asked)
    if part == "test":
        seen = seen.union(split.validation.rows(asked))
    return Questions(asked, seen, relevant.rows(asked))


def evened(asked: Questions, bounds: np.ndarray, share: float) -> Questions:
    """The same questions, with a share of their weight spread evenly over groups of items.

    A random sample of the past holds fewer rare items than what comes next: what is new has had
    no time to be taken often. Compositions chosen by such a sample give rare groups too little.

    Args:
        bounds: (G + 1,) where each group's items begin, and V.
        share: from 0 (as sampled) to 1 (all groups count alike).
    """
    if not 0 <= share <= 1:
        raise InputError(f"a share of {share} to be spread evenly, expected 0 to 1")
    if not share:
        return asked
    groups = np.searchsorted(bounds, asked.relevant.items, side="right") - 1
    found = np.bincount(groups, minlength=len(bounds) - 1) / len(groups)
    weights = (1 - share) + share / np.count_nonzero(found) / found[groups]
    return replace(asked, weights=weights)


def even_share(split: Split) -> float:
    """The share that suits a split: 0 where its validation is a random sample of what is next."""
    return 0.0 if split.kind == "random-70-10-20" else EVEN
