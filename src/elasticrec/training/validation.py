"""The value that early stopping watches: one metric on some seeded validation users."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import normalize

from elasticrec.blocks.bases import Base
from elasticrec.data.splitting import Split
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.ranking import evaluate_vectors
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import final_vectors, fold


class Validation:
    """Ranks all items for a fixed set of validation users, on the base's own device."""

    def __init__(self, split: Split, config: TrainConfig) -> None:
        eligible = np.flatnonzero(split.validation.per_user > 0)
        if len(eligible) > config.validation_users:
            rng = np.random.default_rng([config.seed, 1])
            eligible = np.sort(rng.choice(eligible, config.validation_users, replace=False))
        self.asked = questions(split, "validation", eligible) if len(eligible) else None
        self.histories = split.train.rows(eligible) if len(eligible) else None

    def value(self, base: Base, config: TrainConfig) -> float:
        """The metric's mean; 0 where the split has no validation pairs."""
        if self.asked is None or self.histories is None:
            return 0.0
        users, items = final_vectors(base, config)
        device = items.device.type
        if users is None:
            unit = normalize(items, dim=1).cpu().numpy()
            sums = torch.from_numpy(self.histories.csr() @ unit).to(device)
            persons = normalize(sums, dim=1)
        else:
            persons = users[torch.from_numpy(self.asked.users).to(users.device)]
        found = evaluate_vectors(
            fold(persons, config),
            fold(items, config),
            self.asked,
            metrics=(config.metric,),
            device=device,
        )
        return found.metrics[config.metric]
