"""The value on validation by which the best epoch and the popularity exponent are chosen."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.data.split import Split
from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.evaluation.queries import queries_of
from elasticrec.evaluation.ranking import Evaluation, evaluate_vectors
from elasticrec.evaluation.scoring import popularity_factors
from elasticrec.training.bases import Base
from elasticrec.training.config import TrainConfig


class Validation:
    """Ranks all items for a fixed set of validation users, on the base's own device."""

    def __init__(self, split: Split, config: TrainConfig) -> None:
        users = np.flatnonzero(split.validation.per_user > 0)
        if len(users) > config.validation_users:
            rng = np.random.default_rng([config.seed, 1])
            users = np.sort(rng.choice(users, config.validation_users, replace=False))
        self.config, self.users = config, users
        self.asked = queries_of(split, "validation", users) if len(users) else None
        self.histories = split.train.rows(users)
        self.popularity = split.train.per_item

    def value(self, base: Base) -> float:
        """The metric's mean; 0 where the split has no validation pairs."""
        if self.asked is None:
            return 0.0
        return self._evaluate(*self._vectors(base)).metrics[self.config.metric]

    def choose_exponent(self, base: Base) -> Choice | None:
        """The choice of the popularity exponent; None where the split has no validation pairs.

        Cosines ignore an item's norm, and rare items, whose directions are least certain, then
        rank too high. Exponents are tried upwards until some in a row are no better.
        """
        if self.asked is None:
            return None
        persons, items = self._vectors(base)
        found: dict[str, np.ndarray] = {}
        best, worse = -1.0, 0
        for exponent in self.config.exponents:
            factors = torch.from_numpy(popularity_factors(self.popularity, exponent))
            ranked = self._evaluate(persons, items * factors.to(items.device)[:, None])
            assert ranked.per_user is not None
            found[f"{exponent:g}"] = ranked.per_user[self.config.metric][None]
            value = ranked.metrics[self.config.metric]
            best, worse = (value, 0) if value > best else (best, worse + 1)
            if worse == self.config.exponent_patience:
                break
        return choose("popularity_exponent", found, "0", doubt=self.config.doubt)

    def _vectors(self, base: Base) -> tuple[Tensor, Tensor]:
        """(n, k) the validation users and (V, k) items whose products are the scores."""
        users, items = final_vectors(base, self.config)
        if users is None:
            unit = normalize(items, dim=1).cpu().numpy()
            sums = torch.from_numpy(self.histories.csr() @ unit).to(items.device)
            persons = normalize(sums, dim=1)
        else:
            persons = users[torch.from_numpy(self.users).to(users.device)]
        return folded(persons, self.config), folded(items, self.config)

    def _evaluate(self, persons: Tensor, items: Tensor) -> Evaluation:
        assert self.asked is not None
        return evaluate_vectors(
            persons,
            items,
            self.asked,
            metrics=(self.config.metric,),
            device=items.device.type,
            keep_per_user=True,
        )


def final_vectors(base: Base, config: TrainConfig) -> tuple[Tensor | None, Tensor]:
    """(U, D) users (None for `history`) and (V, D) items whose plain score is the trained one.

    Where the loss was on cosines, each vector is divided by its norm as it is scored.
    """
    users, items = base.final()
    if config.loss == "bpr":
        return users, items
    return None if users is None else _unit(users, config), _unit(items, config)


def folded(vectors: Tensor, config: TrainConfig) -> Tensor:
    """Vectors as they are scored: (n, D) as they are, or (n, d) summed over blocks if tiled."""
    if config.score == "aligned":
        return vectors
    return vectors.view(len(vectors), config.n_blocks, config.block_size).sum(dim=1)


def _unit(vectors: Tensor, config: TrainConfig) -> Tensor:
    return vectors / folded(vectors, config).norm(dim=1, keepdim=True).clamp(min=1e-12)
