"""Mutations: swap two groups, reselect within one, move bytes between two.

Swap and reselect are the paper's. They only permute how many blocks groups have, so a search with
them alone sees no more multisets of counts than its first population; `move` is ours. Each returns
a new candidate within the budget: a swap between unequal groups changes the bytes, so every child
is repaired, and topped up unless its parent left bytes unspent too (as greedy does where the
estimator says that more would hurt).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from elasticrec.rule.candidates import Candidates
from elasticrec.space.ladder import NEVER, pick

Mutation = Callable[[Candidates, np.ndarray, np.random.Generator], np.ndarray]


def swap(space: Candidates, parent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A child in which two groups that differ, drawn at random, changed places."""
    first = pick(rng, len(parent))
    differs = parent != parent[first]
    others = np.flatnonzero(differs if differs.ndim == 1 else differs.any(axis=1))
    child = parent.copy()
    if len(others):
        second = others[pick(rng, len(others))]
        child[first], child[second] = parent[second], parent[first]
    return space.settled(child, rng, top_up=space.is_spent(parent))


def reselect(space: Candidates, parent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A child in which one random group was drawn anew within its bytes."""
    child = space.reselected(parent, pick(rng, len(parent)), rng)
    return space.settled(child, rng, top_up=space.is_spent(parent))


def move(space: Candidates, parent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A child in which one random group gave up bytes and another one used them.

    The giver takes one step down, each further one with probability ½, and as many as the taker's
    next step costs; the taker climbs as far as that pays, and what is left is topped up.
    """
    ladder, rows = space.ladder, space.rows(parent)
    givers = ladder.can_fall(rows)
    if not len(givers):
        return parent.copy()
    giver = int(givers[pick(rng, len(givers))])
    open_groups = ladder.prices[np.arange(len(rows)), rows] < NEVER
    open_groups[giver] = False
    takers = np.flatnonzero(open_groups)
    if not len(takers):
        return parent.copy()
    taker = int(takers[pick(rng, len(takers))])
    left = space.allowance - int(ladder.cost(rows).sum())
    more = True
    while more and ladder.falls(rows, giver):
        left += ladder.step_down(rows, giver, rng)
        more = left < ladder.prices[taker, rows[taker]] or rng.random() < 0.5
    while left >= ladder.prices[taker, rows[taker]]:
        left -= ladder.step_up(rows, taker, left, rng)
    return space.settled(space.at(parent, rows, rng), rng, top_up=space.is_spent(parent))


MUTATIONS: dict[str, Mutation] = {"swap": swap, "reselect": reselect, "move": move}
"""All mutations by name."""


def mutate(
    space: Candidates, parent: np.ndarray, names: Sequence[str], rng: np.random.Generator
) -> tuple[np.ndarray, str]:
    """A child by one of the named mutations, each equally likely, and its name.

    A mutation that left the parent as it was gives way to another one; a child equals its parent
    only if none of them could change it.
    """
    start = pick(rng, len(names))
    child, name = parent, names[start]
    for name in (*names[start:], *names[:start]):
        child = MUTATIONS[name](space, parent, rng)
        if not np.array_equal(child, parent):
            break
    return child, name
