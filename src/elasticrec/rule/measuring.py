"""Measures candidates on validation users by exact ranking."""

from __future__ import annotations

import numpy as np

from elasticrec.evaluation.measure import Person
from elasticrec.evaluation.ranking import Evaluation
from elasticrec.model import Model
from elasticrec.rule.free_blocks import FreeBlocks, masked_items
from elasticrec.rule.levels import Levels


class Measure:
    """The metric of a model's users under a candidate."""

    def __init__(
        self,
        model: Model,
        space: FreeBlocks | Levels,
        metric: str,
        *,
        person: Person,
        device: str = "auto",
    ) -> None:
        """A measure on persons known by history, or by a vector from the server as well."""
        self.model, self.space, self.metric = model, space, metric
        self.person: Person = person
        self.device = device
        self._vectors = None  # of all users, made once
        if person == "vector":
            blocks = isinstance(space, FreeBlocks)
            self._vectors = model.table.users if blocks else model.server_vectors()

    def __call__(self, candidate: np.ndarray, users: np.ndarray) -> np.ndarray:
        """(n,) the metric of each user (n,), who all have something in validation."""
        if isinstance(self.space, FreeBlocks):
            found = self._of_blocks(self.space, candidate, users)
        else:
            found = self._of_levels(self.space, candidate, users)
        return found.per_user[self.metric]

    def _of_levels(self, space: Levels, candidate: np.ndarray, users: np.ndarray) -> Evaluation:
        """Rank as a device with the stream of these levels does."""
        from elasticrec.evaluation.measure import measure

        model = self.model
        return measure(
            model.codes, model.neighbours, model.weights, space.composition(candidate), model.split,
            users=users, person=self.person, vectors=self._vectors, metrics=(self.metric,),
            device=self.device,
        )  # fmt: skip

    def _of_blocks(self, space: FreeBlocks, candidate: np.ndarray, users: np.ndarray) -> Evaluation:
        """Eq. 2: trained users, or persons folded in from train, and the blocks kept."""
        from elasticrec.evaluation.ranking import evaluate_vectors, queries_of
        from elasticrec.evaluation.scoring import fold_users

        table, split = self.model.table, self.model.split
        if self._vectors is None:
            vectors = table.fold_in(split.train.rows(users))
        else:
            vectors = self._vectors[users]
        return evaluate_vectors(
            fold_users(vectors, table.block_size, table.score),
            masked_items(table, space.groups, candidate, split.train.per_item),
            queries_of(split, "validation", users), metrics=(self.metric,), device=self.device,
        )  # fmt: skip
