"""Alg. 1: the memory-bounded randomizer, `random(M, N, G)`.

The paper leaves "draw s_g from N over integers" open: a normal number is rounded and clipped. The
bound is checked in bytes, so that it also holds for groups of unequal size. Ours then tops up, as
Alg. 1 only ever removes; a space with `top_up=False` draws as printed. `uniform` is the control:
all groups alike.
"""

from __future__ import annotations

import numpy as np

from elasticrec.rule.search_space import Space
from elasticrec.space import Budget


def random_candidate(space: Space, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """A random candidate within a budget (Alg. 1)."""
    return space.fill(draw_counts(space, budget, rng), rng)


def draw_counts(space: Space, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """(G,) s_g of a random candidate: Alg. 1, lines 4 to 13."""
    space.check(budget)
    drawn = np.rint(space.draw_first(budget, rng))
    s = np.clip(drawn, 1, space.highest(budget)).astype(np.int64)
    return bounded(space, s, budget, rng)


def bounded(
    space: Space, counts: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """(G,) the counts, repaired to fit a budget, then topped up where the space asks for it."""
    s = counts.copy()
    while space.size(s) > budget.n_bytes:  # Alg. 1, lines 8 to 13
        g = pick(rng, len(s))
        if s[g] > 1:
            s[g] -= 1
    while space.top_up and len(groups := space.affordable(s, budget)):
        s[groups[pick(rng, len(groups))]] += 1
    return s


def pick(rng: np.random.Generator, n: int) -> int:
    """A number from 0 to n - 1, uniformly; several times faster than `rng.integers` for one."""
    return int(rng.random() * n)


def uniform(space: Space, budget: Budget) -> np.ndarray:
    """All groups alike, as far as that goes; the rest goes to the groups in their order.

    Exactly alike would leave up to a level of every group unspent: two fifths of 5 MB in the
    paper's setting.
    """
    space.check(budget)
    s = np.ones(space.n_groups, dtype=np.int64)
    while s[0] < space.most and space.size(s + 1) <= budget.n_bytes:
        s += 1
    for group in range(space.n_groups):
        if group in space.affordable(s, budget):
            s[group] += 1
    return space.evenly(s)
