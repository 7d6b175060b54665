"""Alg. 3: D_est, random compositions measured on the same validation users by exact ranking.

Draw i depends on (seed, i) alone, so a set that was cut off goes on where it ended. The printed
form replaces the set in every round where it must add to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic

import numpy as np

from elasticrec.evaluation.measure import measure
from elasticrec.evaluation.ranking import evaluate_vectors, queries_of
from elasticrec.files import Arrays
from elasticrec.model import Model
from elasticrec.rule.free_blocks import FreeBlocks, masked_items
from elasticrec.rule.levels import Levels
from elasticrec.rule.search_space import Space, random_candidate
from elasticrec.space import Budget
from elasticrec.training.table import folded

log = logging.getLogger(__name__)
_SAVE_EVERY = 200
"""Samples between two saves."""
_LOG_EVERY = 10.0
"""Seconds between two lines in the log."""


@dataclass(frozen=True, eq=False)
class Samples(Arrays):
    """Pairs (model.EE, y) of D_est."""

    candidates: np.ndarray
    """(n, G, …) as the space has them."""
    values: np.ndarray
    """(n,) float64 measured quality."""

    def __len__(self) -> int:
        return len(self.values)

    def arrays(self) -> dict[str, np.ndarray]:
        """Both as plain arrays."""
        return {"candidates": self.candidates, "values": self.values}

    @classmethod
    def load(cls, path: Path | str) -> Samples:
        """The samples that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["candidates"], stored["values"])


@dataclass(frozen=True)
class Measure:
    """The metric of a model's users under a candidate, by exact ranking."""

    model: Model
    space: FreeBlocks | Levels
    metric: str
    device: str = "auto"

    def __call__(self, candidate: np.ndarray, users: np.ndarray) -> np.ndarray:
        """(n,) the metric of each user (n,), who all have something in validation."""
        model, split, space = self.model, self.model.split, self.space
        if isinstance(space, Levels):  # as a device with the stream of these levels ranks
            found = measure(
                model.codes, model.neighbours, model.weights, space.composition(candidate), split,
                users=users, person="history" if self._vectors is None else "vector",
                vectors=self._vectors, metrics=(self.metric,), device=self.device,
            )  # fmt: skip
            return found.per_user[self.metric]
        table, vectors = model.table, self._vectors
        persons = table.fold_in(split.train.rows(users)) if vectors is None else vectors[users]
        items = masked_items(table, space.group, candidate, split.train.per_item)  # Eq. 2
        asked = queries_of(split, "validation", users)
        found = evaluate_vectors(
            folded(persons, table), items, asked, metrics=(self.metric,), device=self.device
        )
        return found.per_user[self.metric]

    @cached_property
    def _vectors(self) -> np.ndarray | None:
        """(U, D) of all users, where the model has them."""
        trained = isinstance(self.space, FreeBlocks)
        return self.model.table.users if trained else self.model.server_vectors()


def draw(space: Space, seed: int, number: int, budget: Budget | None = None) -> np.ndarray:
    """Candidate `number`: of a total drawn at random (Alg. 3, l. 5 and 6), or of a budget."""
    rng = np.random.default_rng((seed, number))
    return random_candidate(space, budget or space.draw_total(rng), rng)


def collect(
    space: Space, quality: Callable[[np.ndarray], float], n: int, seed: int, *,
    known: Samples | None = None, budget: Budget | None = None,
    save: Callable[[Samples], None] = lambda _: None,
) -> Samples:  # fmt: skip
    """The first n draws, measured; those already known are not measured again.

    Args:
        quality: the measured quality of one candidate (G, …).
        budget: what each may spend; None draws a total for each.
        save: called with what there is from time to time, and at the end.
    """
    candidates = [] if known is None else [*known.candidates[:n]]
    values = [] if known is None else known.values[:n].tolist()
    first, began = len(values), monotonic()
    told = began
    for number in range(first, n):
        candidates.append(draw(space, seed, number, budget))
        values.append(quality(candidates[-1]))
        done, now = number + 1, monotonic()
        if now - told > _LOG_EVERY:
            left = (now - began) / (done - first) * (n - done)
            log.info("measured %d of %d compositions, %.0f s left", done, n, left)
            told = now
        if done % _SAVE_EVERY == 0 or done == n:
            save(Samples(np.array(candidates), np.array(values)))
    return Samples(np.array(candidates), np.array(values))
