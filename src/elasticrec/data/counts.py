"""Counts of a data set and of its parts, as in the paper's dataset table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import PARTS, Split

RARE = 5
"""An item with fewer train pairs than this is rare."""


@dataclass(frozen=True)
class Counts:
    """Sizes of one set of pairs."""

    part: str
    """`all`, `train`, `validation` or `test`."""
    users: int
    """Users with at least one pair; for `all`, every user."""
    items: int
    """Items with at least one pair; for `all`, every item."""
    interactions: int
    """Distinct pairs."""
    per_user: tuple[int, int]
    """Fewest and most pairs of those users."""
    known: int = 0
    """Users with at least one pair who have train items."""
    rare: float = 0.0
    """Share of the pairs whose item has fewer than `RARE` train pairs."""

    @property
    def sparsity(self) -> float:
        """The share of user-item cells without an interaction."""
        return 1 - self.interactions / max(self.users * self.items, 1)


def count(split: Split) -> list[Counts]:
    """The counts of the whole data set, then of each part."""
    parts = {part: getattr(split, part) for part in PARTS}
    whole = split.train.union(split.validation).union(split.test)
    counted = [Counts("all", split.n_users, split.n_items, len(whole), _span(whole))]
    for part in PARTS:
        pairs: Pairs = getattr(split, part)
        users = int(np.count_nonzero(pairs.per_user))
        items = int(np.count_nonzero(pairs.per_item))
        known = int(np.count_nonzero(pairs.per_user[split.train.per_user > 0]))
        rare = split.train.per_item[pairs.items] < RARE
        share = float(rare.mean()) if len(pairs) else 0.0
        counted.append(Counts(part, users, items, len(pairs), _span(pairs), known, share))
    return counted


def _span(pairs: Pairs) -> tuple[int, int]:
    """Fewest and most pairs among users who have some."""
    some = pairs.per_user[pairs.per_user > 0]
    return (int(some.min()), int(some.max())) if len(some) else (0, 0)
