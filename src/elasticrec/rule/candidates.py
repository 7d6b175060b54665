"""Candidates: what a search may choose under one budget.

A candidate is an array with one entry per group: its row of a menu (G,) in `menu_rows`, or its mask
of kept blocks (G, N) in `free_blocks`. Every change goes through the ladder of `space`, so that no
candidate is ever over budget.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import Composition
from elasticrec.space.ladder import Ladder


class Candidates(ABC):
    """All candidates within a budget, and the ways from one to another."""

    def __init__(
        self, ladder: Ladder, accounting: Accounting, budget: Budget, *, topped: bool
    ) -> None:
        self.ladder = ladder
        self.accounting = accounting
        self.budget = budget
        self.allowance = ladder.allowance(budget)
        """Bytes that rows may take."""
        self.topped = topped
        """Whether candidates are topped up until nothing more fits."""

    @property
    def n_groups(self) -> int:
        """G."""
        return self.ladder.n_groups

    @property
    def is_full(self) -> bool:
        """Whether the budget holds everything, so that there is nothing to search."""
        return self.budget.n_bytes >= self.full_bytes

    @cached_property
    def full_bytes(self) -> int:
        """What everything costs."""
        return self.n_bytes(self.everything())

    @abstractmethod
    def rows(self, candidate: np.ndarray) -> np.ndarray:
        """(G,) the ladder's row of each group; the caller may change it."""

    @abstractmethod
    def at(self, candidate: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The candidate moved to other rows of the ladder, as little changed as may be."""

    @abstractmethod
    def arrays(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Depths (B, G, N) and neighbours (B, G) of some candidates (B, G, …)."""

    @abstractmethod
    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random candidate."""

    @abstractmethod
    def reselected(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """A copy in which one group was drawn anew within the bytes it has."""

    @abstractmethod
    def alike(self) -> np.ndarray:
        """(n, G, …) candidates that treat all groups alike, none part of another; not topped up."""

    @abstractmethod
    def least(self) -> np.ndarray:
        """(n, G, …) candidates from which greedy may start: the cheapest."""

    @abstractmethod
    def steps(self, candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, G, …) candidates one affordable step up, and the (n,) bytes of each step."""

    @abstractmethod
    def everything(self) -> np.ndarray:
        """The candidate that keeps all there is; within the budget only if `is_full`."""

    @abstractmethod
    def topped_in_order(self, candidate: np.ndarray) -> np.ndarray:
        """A copy whose unspent bytes went to the groups in their order, step by step."""

    @abstractmethod
    def topped_evenly(self, candidate: np.ndarray) -> np.ndarray:
        """A copy whose unspent bytes went to the groups with the fewest per item, step by step."""

    @abstractmethod
    def of(self, composition: Composition) -> np.ndarray:
        """The candidate behind a composition, whatever it costs."""

    def compose(self, candidate: np.ndarray) -> Composition:
        """The composition behind one candidate."""
        depths, neighbours = self.arrays(candidate[None])
        return Composition(depths[0], neighbours[0])

    def n_bytes(self, candidate: np.ndarray) -> int:
        """What a candidate costs, exactly; the ladder's sum may count some padding too many."""
        return self.accounting.size(self.compose(candidate))

    def settled(
        self, candidate: np.ndarray, rng: np.random.Generator, *, top_up: bool = True
    ) -> np.ndarray:
        """The candidate, repaired where it may not stay, then topped up where asked to."""
        rows = self.rows(candidate)
        before = rows.copy()
        rows = self.ladder.raised(rows)
        left = self.allowance - int(self.ladder.cost(rows).sum())
        left = self.ladder.repair(rows, left, rng)
        if top_up and self.topped:
            self.ladder.top_up(rows, left, rng)
        return candidate if np.array_equal(rows, before) else self.at(candidate, rows, rng)

    def is_spent(self, candidate: np.ndarray) -> bool:
        """Whether no step up fits any more."""
        rows = self.rows(candidate)
        left = self.allowance - int(self.ladder.cost(rows).sum())
        return not len(self.ladder.can_rise(rows, left))
