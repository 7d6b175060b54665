"""The value that early stopping watches, and the popularity gain that it chooses."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.training.bases import Base
from elasticrec.data.splitting import Split
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.ranking import evaluate_vectors
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import final_vectors, fold

EXPONENTS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2)
"""Candidates for the exponent of the popularity gain."""


class Validation:
    """Ranks all items for a fixed set of validation users, on the base's own device."""

    def __init__(self, split: Split, config: TrainConfig) -> None:
        eligible = np.flatnonzero(split.validation.per_user > 0)
        if len(eligible) > config.validation_users:
            rng = np.random.default_rng([config.seed, 1])
            eligible = np.sort(rng.choice(eligible, config.validation_users, replace=False))
        self.config = config
        self.asked = questions(split, "validation", eligible) if len(eligible) else None
        self.histories = split.train.rows(eligible) if len(eligible) else None
        self.popularity = split.train.per_item

    def value(self, base: Base, gain: Tensor | None = None) -> float:
        """The metric's mean; 0 where the split has no validation pairs.

        Args:
            gain: (V,) what items are multiplied by; None leaves them as they are.
        """
        if self.asked is None or self.histories is None:
            return 0.0
        config = self.config
        users, items = final_vectors(base, config)
        device = items.device.type
        if users is None:
            unit = normalize(items, dim=1).cpu().numpy()
            sums = torch.from_numpy(self.histories.csr() @ unit).to(device)
            persons = normalize(sums, dim=1)
        else:
            persons = users[torch.from_numpy(self.asked.users).to(users.device)]
        if gain is not None:
            items = items * gain[:, None]
        found = evaluate_vectors(
            fold(persons, config),
            fold(items, config),
            self.asked,
            metrics=(config.metric,),
            device=device,
        )
        return found.metrics[config.metric]

    def best_gain(self, base: Base) -> tuple[float, Tensor | None]:
        """The exponent of the popularity gain, and the gain (V,); None where it is 0.

        The exponent is the given one, or else the one that ranks best.

        Cosines leave an item's norm open, and rare items, whose directions are least certain,
        then rank too high. Exponents are tried upwards until two in a row are no better.
        """
        given = self.config.popularity_gain
        if given > 0:
            return given, self._gain(given, base)
        if given == 0 or self.asked is None:
            return 0.0, None
        best, best_value, worse = 0.0, -1.0, 0
        for exponent in EXPONENTS:
            value = self.value(base, self._gain(exponent, base))
            best, best_value, worse = (
                (exponent, value, 0) if value > best_value else (best, best_value, worse + 1)
            )
            if worse == 2:
                break
        return best, self._gain(best, base)

    def _gain(self, exponent: float, base: Base) -> Tensor:
        """(V,) popularity to the power, as a share of the most popular item's."""
        gain = ((self.popularity + 1.0) / (self.popularity.max() + 1.0)) ** exponent
        device = next(iter(base.tables.values())).device
        return torch.from_numpy(gain.astype(np.float32)).to(device)
