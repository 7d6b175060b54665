"""Alg. 2: evolutionary search. Breed candidates, let the worst leave, return the best ever seen.

Two slips of the printed form are read as they must be meant: its seeding loop keeps the `model`
just drawn, not a `child`, and a round estimates the `child`, not the `model`. `seed` is a set, as
printed: a child that is in it already does not join, so copies of the best never fill it.

Of the mutations, swap and reselect are the paper's. With free blocks they only permute how many
blocks groups have, so a search with them alone sees no more multisets of counts than its first
population; `move` is ours. A swap between groups of unequal size changes the bytes, so every child
is repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from elasticrec.rule.config import SearchConfig
from elasticrec.rule.search_space import Space, bounded, pick, random_candidate
from elasticrec.space import Budget

Estimate = Callable[[np.ndarray], np.ndarray]
"""estimate(·): candidates (B, G, …) to (B,) quality."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One candidate that a search looked at."""

    candidate: np.ndarray
    """model.EE."""
    estimate: float
    """model.ACC."""
    parent: int
    """The number of the candidate it was made from; -1 for none."""
    made_by: str
    """`random`, `uniform`, or the name of a mutation."""


def leaders(cache: list[Seen], k: int) -> list[Seen]:
    """The k best distinct candidates, the best first, and the oldest of equal ones."""
    distinct: dict[bytes, Seen] = {}
    for seen in sorted(cache, key=lambda seen: -seen.estimate):
        distinct.setdefault(seen.candidate.tobytes(), seen)
    return list(distinct.values())[:k]


def evolve(
    space: Space, budget: Budget, estimate: Estimate, config: SearchConfig,
    rng: np.random.Generator, *, starts: Sequence[np.ndarray] = (),
) -> list[Seen]:  # fmt: skip
    """All that Alg. 2 saw, in order: its `cache`; the same for the same generator."""
    first = [*starts]
    while len(first) < config.population:
        first.append(random_candidate(space, budget, rng))
    names = ["uniform"] * len(starts) + ["random"] * (len(first) - len(starts))
    estimates = _finite(estimate(np.array(first)))
    cache = [Seen(c, y, -1, n) for c, y, n in zip(first, estimates, names, strict=True)]
    seed = list(range(len(cache)))
    for _ in range(config.rounds):
        sample = [seed[pick(rng, len(seed))] for _ in range(config.tournament)]
        parent = max(sample, key=lambda number: cache[number].estimate)
        child, name = mutate(space, cache[parent].candidate, budget, config.mutations, rng)
        cache.append(Seen(child, _finite(estimate(child[None]))[0], parent, name))
        if not any(np.array_equal(child, cache[number].candidate) for number in seed):
            seed.append(len(cache) - 1)
            seed.remove(min(seed, key=lambda number: cache[number].estimate))
    return cache


def _finite(estimates: np.ndarray) -> list[float]:
    """The estimates as numbers; anything that cannot be ranked is refused."""
    if not np.isfinite(estimates).all():
        raise ValueError("an estimate is not a finite number: the search cannot rank by it")
    return [float(value) for value in estimates]


def swap(space: Space, parent: np.ndarray, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """A child in which two groups that differ, drawn at random, changed places."""
    first = pick(rng, len(parent))
    differs = (parent != parent[first]).reshape(len(parent), -1).any(axis=1)
    others = np.flatnonzero(differs)
    child = parent.copy()
    if len(others):
        second = others[pick(rng, len(others))]
        child[first], child[second] = parent[second], parent[first]
    return _repaired(space, child, budget, rng)


def reselect(
    space: Space, parent: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """A child in which one random group was drawn anew."""
    child = space.reselect(parent, pick(rng, len(parent)), rng)
    return _repaired(space, child, budget, rng)


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
    return _repaired(space, space.with_counts(parent, s, rng), budget, rng)


def _repaired(
    space: Space, child: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """The child, repaired and topped up as random candidates are (Alg. 1)."""
    before = space.counts(child)
    after = bounded(space, before, budget, rng)
    return child if np.array_equal(before, after) else space.with_counts(child, after, rng)


_BY_NAME = {"swap": swap, "reselect": reselect, "move": move}


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
