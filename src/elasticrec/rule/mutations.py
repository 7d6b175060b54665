"""Mutations of Alg. 2: a child of a candidate, within the budget.

Of these, swap and reselect are the paper's. With free blocks they only permute how many blocks
groups have, so a search with them alone sees no more multisets of counts than its first
population; `move` is ours. A swap between groups of unequal size changes the bytes, so every child
is repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from elasticrec.rule.randomizer import bounded, pick
from elasticrec.rule.search_space import Space
from elasticrec.space import Budget

Mutation = Callable[[Space, np.ndarray, Budget, np.random.Generator], np.ndarray]
"""A child of a candidate, within the budget."""


def swap(space: Space, parent: np.ndarray, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """A child in which two groups that differ, drawn at random, changed places."""
    first = pick(rng, len(parent))
    differs = (parent != parent[first]).reshape(len(parent), -1).any(axis=1)
    others = np.flatnonzero(differs)
    child = parent.copy()
    if len(others):
        second = others[pick(rng, len(others))]
        child[first], child[second] = parent[second], parent[first]
    return _settled(space, child, budget, rng)


def reselect(
    space: Space, parent: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """A child in which one random group was drawn anew."""
    child = space.reselect(parent, pick(rng, len(parent)), rng)
    return _settled(space, child, budget, rng)


def move(space: Space, parent: np.ndarray, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """A child in which one random group gave up bytes and another one used them.

    The giver goes down by one, each further time with probability ½, and until the taker can go up
    by one; the taker goes up as far as what was given pays for.
    """
    s = space.counts(parent)
    givers, takers = np.flatnonzero(s > 1), np.flatnonzero(s < space.most)
    if not len(givers):
        return parent.copy()
    giver = int(givers[pick(rng, len(givers))])
    takers = takers[takers != giver]
    if not len(takers):
        return parent.copy()
    taker = int(takers[pick(rng, len(takers))])
    more = True
    while more and s[giver] > 1:
        s[giver] -= 1
        more = taker not in space.affordable(s, budget) or rng.random() < 0.5
    while taker in space.affordable(s, budget):
        s[taker] += 1
    return _settled(space, space.with_counts(parent, s, rng), budget, rng)


def _settled(
    space: Space, child: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """The child, repaired and topped up as random candidates are."""
    before = space.counts(child)
    after = bounded(space, before, budget, rng)
    return child if np.array_equal(before, after) else space.with_counts(child, after, rng)


_BY_NAME: dict[str, Mutation] = {"swap": swap, "reselect": reselect, "move": move}


def mutate(
    space: Space, parent: np.ndarray, budget: Budget, names: Sequence[str], rng: np.random.Generator
) -> tuple[np.ndarray, str]:
    """A child by one of the named mutations, each equally likely, and its name.

    A mutation that left the parent as it was gives way to the next one; a child equals its parent
    only if none of them could change it.
    """
    start = pick(rng, len(names))
    child, name = parent, names[start]
    for name in (*names[start:], *names[:start]):
        child = _BY_NAME[name](space, parent, budget, rng)
        if not np.array_equal(child, parent):
            break
    return child, name
