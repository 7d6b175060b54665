"""Matryoshka representations (Kusupati et al., NeurIPS '22): prefixes trained together.

One table is trained so that its first 8, 16, … numbers rank by themselves: the loss is the mean of
the losses of all prefixes, each on its own cosines. A budget is served the longest prefix that fits
in bytes, as PMF and LightGCN may be. Its paper's loss is a softmax, as ours is.
Left open: the weights of the prefixes (equal ones, as in the paper), and what to do between two
trained prefixes (the longer one is cut).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from elasticrec.data.split import Split
from elasticrec.space import Budget
from elasticrec.training.bases import Users
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.sampler import Batch
from experiments.baselines.contract import Fitted
from experiments.baselines.fitting import LARGEST, OUR_TRIALS, kept_vectors, our_config
from experiments.baselines.fixed_size import as_bytes, widest

EPOCHS = 28
PREFIXES = (8, 16, 32, 64, 128, LARGEST)
FORM = "int8"
TRIALS = [trial | {"values": FORM} for trial in OUR_TRIALS]


class Nested:
    """The mean loss of all prefixes."""

    def __init__(self, config: TrainConfig) -> None:
        self.of_one = Objective(config)

    def __call__(self, vectors: Vectors, batch: Batch) -> Tensor:
        """The loss of a batch."""
        losses = [self.of_one(prefix(vectors, k), batch) for k in PREFIXES]
        total = losses[0]
        for loss in losses[1:]:
            total = total + loss
        return total / len(PREFIXES)


def prefix(vectors: Vectors, k: int) -> Vectors:
    """The first k numbers of all vectors."""
    near = None if vectors.near is None else vectors.near[..., :k].contiguous()
    own, asking, seen, unseen = (
        x[..., :k].contiguous() for x in (*vectors.users, vectors.seen, vectors.unseen)
    )
    return replace(vectors, users=Users(own, asking), seen=seen, unseen=unseen, near=near)


@dataclass(frozen=True)
class Matryoshka:
    """One training, and a prefix of it for each budget."""

    name: str = "matryoshka"
    losses: tuple[str, ...] = ("ours",)
    sizes: str = "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        del loss
        return TRIALS

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        del loss  # ours alone
        k = min(LARGEST, widest(self.name, FORM, split.n_items, budget))
        config = our_config(split, LARGEST, settings, seed, epochs or EPOCHS)
        nested = Nested(config)
        trained = kept_vectors(split, config, device, loss=nested, word=self.name)
        started = time.perf_counter()
        users, items = (cut(x, k) for x in (trained.users, trained.items))
        stored = as_bytes(items)
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted(FORM, stored, users, k, seconds).within(budget)


def cut(vectors: np.ndarray, k: int) -> np.ndarray:
    """(n, k) the first numbers of each vector, made as long as the whole was."""
    head = vectors[:, :k]
    norms, heads = (np.linalg.norm(x, axis=1, keepdims=True) for x in (vectors, head))
    return np.asarray(head * (norms / np.maximum(heads, 1e-12)), dtype=np.float32)


MATRYOSHKA = Matryoshka()
