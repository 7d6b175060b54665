"""Queries: the users of an evaluation, their hidden and their relevant items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError

Part = Literal["test", "validation"]


@dataclass(frozen=True)
class Queries:
    """The users that are evaluated, the items hidden from each, and the relevant ones."""

    users: np.ndarray
    """(n,) numbers of the users asked about: those with relevant items."""
    seen: Pairs
    """n users: the items that are not shown to each."""
    relevant: Pairs
    """n users: the items that are relevant to each, at least one."""
    train: Pairs
    """All users: what was trained on, by which lists are judged as new or varied."""


def queries_of(split: Split, part: Part = "test", users: np.ndarray | None = None) -> Queries:
    """The users with relevant items in a part; train is hidden, and validation too when testing.

    A relevant item that is hidden all the same can never be shown, and counts as missed.
    """
    if part not in ("test", "validation"):
        raise InputError(f"cannot evaluate on part {part!r}; expected test or validation")
    relevant, able = getattr(split, part), holders(split, part)
    asked = able if users is None else np.asarray(users)[np.isin(users, able)]
    if not len(asked):
        raise InputError(f"the {part} part of {split.name!r} holds no item of any user asked for")
    seen = split.train.rows(asked)
    if part == "test":
        seen = seen.union(split.validation.rows(asked))
    return Queries(asked, seen, relevant.rows(asked), split.train)


def holders(split: Split, part: Part = "validation") -> np.ndarray:
    """The users with items in a part; a part without any is refused."""
    able = np.flatnonzero(getattr(split, part).per_user > 0)
    if not len(able):
        why = "; a refit uses them up (fit with --set refit=false)" if part == "validation" else ""
        raise InputError(f"{split.name}: nobody has {part} items, expected some{why}")
    return able
