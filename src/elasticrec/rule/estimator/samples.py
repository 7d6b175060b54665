"""Alg. 3: D_est, random compositions that were measured on the same validation users.

Draw i depends on (seed, i) alone, so a set that was cut off goes on where it ended. The printed
form replaces the set in every round where it must add to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.files import written_whole
from elasticrec.rule.randomizer import random_candidate
from elasticrec.rule.search_space import Space
from elasticrec.space.budget import Budget

Measure = Callable[[np.ndarray], float]
"""The measured quality of one candidate (G, …)."""
_SAVE_EVERY = 200
"""Samples between two saves."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Pairs (model.EE, y) of D_est."""

    candidates: np.ndarray
    """(n, G, …) as the space has them."""
    values: np.ndarray
    """(n,) float64 measured quality."""

    def __len__(self) -> int:
        return len(self.values)

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez_compressed(file, candidates=self.candidates, values=self.values)

    @classmethod
    def load(cls, path: Path | str) -> Samples:
        """The samples that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["candidates"], stored["values"])


def draw(space: Space, seed: int, number: int, budget: Budget | None = None) -> np.ndarray:
    """Candidate `number`: of a total drawn at random (Alg. 3, l. 5 and 6), or of a budget."""
    rng = np.random.default_rng((seed, number))
    return random_candidate(space, budget or space.draw_total(rng), rng)


def collect(
    space: Space,
    measure: Measure,
    n: int,
    seed: int,
    *,
    known: Samples | None = None,
    budget: Budget | None = None,
    save: Callable[[Samples], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Samples:
    """The first n draws, measured; those already known are not measured again.

    Args:
        budget: what each may spend; None draws a total for each.
        save: called with what there is from time to time, and at the end.
        progress: called with how many are done and how many there are in all.
    """
    candidates = [] if known is None else [*known.candidates[:n]]
    values = [] if known is None else known.values[:n].tolist()
    progress(len(values), n)
    for number in range(len(values), n):
        candidates.append(draw(space, seed, number, budget))
        values.append(measure(candidates[-1]))
        progress(number + 1, n)
        if (number + 1) % _SAVE_EVERY == 0 or number + 1 == n:
            save(Samples(np.array(candidates), np.array(values)))
    return Samples(np.array(candidates), np.array(values))
