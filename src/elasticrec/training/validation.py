"""Values on validation, by which epoch, popularity exponent, recency, temperature are chosen."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.data.split import Split
from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.evaluation.ranking import evaluate_vectors, queries_of
from elasticrec.progress import stage
from elasticrec.training.bases import Base
from elasticrec.training.config import TrainConfig
from elasticrec.training.table import BlockTable, folded, popularity_factors


class Validation:
    """Ranks all items for a fixed set of validation users, on the base's own device."""

    def __init__(self, split: Split, config: TrainConfig) -> None:
        users = np.flatnonzero(split.validation.per_user > 0)
        if len(users) > config.validation_users:
            rng = np.random.default_rng([config.seed, 1])
            users = np.sort(rng.choice(users, config.validation_users, replace=False))
        self.config, self.users = config, users
        self.asked = queries_of(split, "validation", users) if len(users) else None
        self.histories, self.recency = split.train.rows(users), max(config.recency, 0.0)
        self.chosen: np.ndarray | None = None
        """(1, n) the metric of each user with the exponent that was chosen."""
        self.popularity = split.train.per_item

    def table(self, base: Base) -> tuple[BlockTable, list[Choice]]:
        """The block table of a base, and how recency and exponent were chosen."""
        config, exponent = self.config, 0.0
        choices: list[Choice | None] = []
        if config.recency < 0 and config.score == "aligned":
            with stage("choosing the recency"):
                choices.append(self.choose_recency(base))
        if config.loss == "softmax":
            with stage("choosing the popularity exponent"):
                choice = self.choose_exponent(base)
            exponent = float(choice.chosen) if choice else max(config.popularity_exponent, 0.0)
            if config.popularity_exponent < 0:
                choices.append(choice)
        users, items = final_vectors(base, config)
        blocks = items.reshape(len(items), config.n_blocks, config.block_size)
        table = BlockTable(
            blocks.cpu().numpy().astype(np.float32),
            None if users is None else users.cpu().numpy().astype(np.float32),
            base.name, config.score,
            cosine=config.loss == "softmax" and config.score == "aligned",
            popularity_exponent=exponent, recency=self.recency,
        )  # fmt: skip
        return table, [choice for choice in choices if choice]

    def value(self, base: Base) -> float:
        """The metric's mean; 0 where the split has no validation pairs."""
        return 0.0 if self.asked is None else float(self._values(*self._vectors(base)).mean())

    def choose_recency(self, base: Base) -> Choice | None:
        """The recency that is used from now on; None where no order of histories is known.

        Scores are aligned ones: others have no stream.
        """
        if self.asked is None or self.histories.order is None:
            return None
        items = final_vectors(base, self.config)[1]
        found = {}
        for recency in sorted({0.0, *self.config.recencies}):
            self.recency = recency
            found[f"{recency:g}"] = self._values(self._sums(items), items)
        choice = choose("recency", found, "0", doubt=self.config.doubt)
        self.recency = float(choice.chosen)
        return choice

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
        given = self.config.popularity_exponent
        candidates = self.config.exponents if given < 0 else (given,)
        for exponent in candidates:
            factors = torch.from_numpy(popularity_factors(self.popularity, exponent))
            values = self._values(persons, items * factors.to(items.device)[:, None])
            found[f"{exponent:g}"], value = values, float(values.mean())
            best, worse = (value, 0) if value > best else (best, worse + 1)
            if worse == self.config.exponent_patience:
                break
        choice = choose("popularity_exponent", found, f"{candidates[0]:g}", doubt=self.config.doubt)
        self.chosen = found[choice.chosen]
        return choice

    def _vectors(self, base: Base) -> tuple[Tensor, Tensor]:
        """(n, k) the validation users and (V, k) items whose products are the scores."""
        users, items = final_vectors(base, self.config)
        if users is None:
            persons = self._sums(items)
        else:
            persons = users[torch.from_numpy(self.users).to(users.device)]
        return folded(persons, self.config), folded(items, self.config)

    def _sums(self, items: Tensor) -> Tensor:
        """(n, D) the validation users as sums of their items."""
        sums = self.histories.csr(self.recency) @ normalize(items, dim=1).cpu().numpy()
        return normalize(torch.from_numpy(sums).to(items.device), dim=1)

    def _values(self, persons: Tensor, items: Tensor) -> np.ndarray:
        """(1, n) the metric of each user."""
        assert self.asked is not None
        name, device = self.config.metric, items.device.type
        found = evaluate_vectors(persons, items, self.asked, metrics=(name,), device=device)
        return found.per_user[name][None]


def final_vectors(base: Base, config: TrainConfig) -> tuple[Tensor | None, Tensor]:
    """(U, D) users (None for `history`) and (V, D) items whose plain score is the trained one.

    Where the loss was on cosines, each vector is divided by its norm as it is scored.
    """
    users, items = base.final()
    if config.loss == "bpr":
        return users, items

    def scored_unit(vectors: Tensor) -> Tensor:
        return vectors / folded(vectors, config).norm(dim=1, keepdim=True).clamp(min=1e-12)

    return None if users is None else scored_unit(users), scored_unit(items)
