"""Course: what greedy keeps on its way from nothing to everything, climbed once per model.

Its compositions contain each other. The search of a step is bound to contain what the course keeps
at the step before, so that bundles of one model share most of their bytes whatever the order in
which they were asked for, and it starts near its end, so that it is short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.errors import InputError
from elasticrec.rule.config import SearchConfig
from elasticrec.rule.controls import greedy
from elasticrec.rule.evolution import evolve
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.space.composition import Composition


@dataclass(frozen=True)
class Answer:
    """What was found for one step."""

    rows: tuple[int, ...]
    """(G,) the menu's row of each group."""
    estimate: float
    """Estimated quality."""
    seconds: float
    """How long the search took."""


@dataclass(frozen=True, eq=False)
class Course:
    """The climb: every composition on it, its bytes at most, and its estimate."""

    searcher: Searcher
    """The model."""
    choices: np.ndarray
    """(n, G) rows of the menu, each choice containing the one before."""
    sizes: np.ndarray
    """(n,) int64 bytes that each takes at most, rising."""
    estimates: np.ndarray
    """(n,) estimated quality."""
    full_bytes: int
    """What everything takes."""

    @classmethod
    def of(cls, searcher: Searcher) -> Course:
        """The course of a model that can be packed."""
        if searcher.accounting_name != "file":
            raise InputError(
                f"the estimator of {searcher.folder.root} was made for accounting "
                f"{searcher.accounting_name}; bundles need one made with --accounting file"
            )
        everything = searcher.candidates(Budget(2**60))
        full_bytes = everything.full_bytes
        problem = searcher.problem(Budget(max(1, full_bytes - 1)))
        climb = greedy(problem, SearchConfig(), np.random.default_rng(0)).trace
        ladder = problem.candidates.ladder
        costs = ladder.costs[np.arange(ladder.n_groups), climb.candidates].sum(axis=1)
        return cls(
            searcher,
            climb.candidates,
            ladder.fixed_bytes + costs,
            climb.estimates,
            full_bytes,
        )

    @property
    def least_bytes(self) -> int:
        """The least that a bundle takes that keeps something."""
        return int(self.sizes[min(1, len(self.sizes) - 1)])

    def within(self, n_bytes: int) -> tuple[Composition, float]:
        """The best composition of the course within some bytes, and its estimate.

        Where not even the first fits, it is the first.
        """
        fitting = max(1, int(np.searchsorted(self.sizes, n_bytes, side="right")))
        best = int(self.estimates[:fitting].argmax())
        return self.searcher.menu.compose(self.choices[best]), float(self.estimates[best])

    def search(self, step: int, before: int | None, config: SearchConfig, seed: int) -> Answer:
        """The best composition found for a step; equal settings give equal answers.

        Args:
            step: bytes.
            before: the step below it; what the course keeps there is kept here too.
        """
        containing = None if before is None else self.within(before)[0]
        problem = self.searcher.problem(Budget(step), containing=containing)
        found = evolve(problem, config, np.random.default_rng((seed, step)))
        rows = self.searcher.menu.choice_of(found.composition)
        return Answer(tuple(rows.tolist()), found.estimate, found.seconds)
