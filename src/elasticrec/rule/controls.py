"""Controls: what a search must beat."""

from __future__ import annotations

import numpy as np

from elasticrec.rule.evolution import Estimate, Found, Seen
from elasticrec.rule.randomizer import random_candidate
from elasticrec.rule.search_space import Space
from elasticrec.space.budget import Budget


def uniform(space: Space, budget: Budget) -> np.ndarray:
    """All groups alike, as far as that goes; the rest goes to the groups in their order.

    Exactly alike would leave up to a step of every group unspent: two fifths of 5 MB in the paper's
    setting.
    """
    space.check(budget)
    s = np.ones(space.n_groups, dtype=np.int64)
    while s[0] < space.most and space.size(s + 1) <= budget.n_bytes:
        s += 1
    for group in range(space.n_groups):
        if group in space.affordable(s, budget):
            s[group] += 1
    return space.evenly(s)


def best_of_random(
    space: Space, budget: Budget, estimate: Estimate, n: int, rng: np.random.Generator
) -> Found:
    """The best estimate among n random candidates; a search looks at P + C."""
    drawn = np.array([random_candidate(space, budget, rng) for _ in range(n)])
    estimates = estimate(drawn).tolist()
    return Found([Seen(c, y, -1, "random") for c, y in zip(drawn, estimates, strict=True)])
