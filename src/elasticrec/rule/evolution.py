"""Alg. 2: evolutionary search. Breed candidates, let the worst leave, return the best ever seen.

Two slips of the printed form are read as they must be meant: its seeding loop keeps the `model`
just drawn, not a `child`, and a round estimates the `child`, not the `model`. `seed` is a set, as
printed: a child that is in it already does not join, so copies of the best never fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from elasticrec.rule.config import SearchConfig
from elasticrec.rule.mutations import mutate
from elasticrec.rule.randomizer import pick, random_candidate
from elasticrec.rule.search_space import Space
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


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates that a search looked at."""

    cache: list[Seen]
    """Every candidate, in order: Alg. 2's `cache`."""

    @property
    def best(self) -> Seen:
        """The candidate of the highest estimate, the oldest of equal ones."""
        return max(self.cache, key=lambda seen: seen.estimate)

    def leaders(self, k: int) -> list[Seen]:
        """The k best distinct candidates, the best first."""
        distinct: dict[bytes, Seen] = {}
        for seen in sorted(self.cache, key=lambda seen: -seen.estimate):
            distinct.setdefault(seen.candidate.tobytes(), seen)
        return list(distinct.values())[:k]


def evolve(
    space: Space,
    budget: Budget,
    estimate: Estimate,
    config: SearchConfig,
    rng: np.random.Generator,
    *,
    starts: Sequence[np.ndarray] = (),
) -> Found:
    """All that Alg. 2 saw; the same for the same generator."""
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
    return Found(cache)


def _finite(estimates: np.ndarray) -> list[float]:
    """The estimates as numbers; anything that cannot be ranked is refused."""
    if not np.isfinite(estimates).all():
        raise ValueError("an estimate is not a finite number: the search cannot rank by it")
    return [float(value) for value in estimates]
