"""PMF and LightGCN in tables of one fixed dimension: as float32, or as bytes with scales.

PMF (Mnih & Salakhutdinov, NIPS '07) has a vector per user and per item, by squared errors. Left
open for ranking: the ratings are all ones, so each pair visited brings some items its user has not,
drawn uniformly, as zeros; Gaussian priors are L2 on every row a batch uses. With our loss it is the
base `mf`, with or without aggregation. LightGCN (He et al., SIGIR '20) propagates vectors over the
graph of users and items; a device is sent what propagation leaves. Its paper samples one unseen
item per pair for BPR; of several the hardest may count instead, which is tried as well.

Matryoshka representations (Kusupati et al., NeurIPS '22) are one table whose first 8, 16, … numbers
rank by themselves: the loss is the mean of the losses of all prefixes, each on its own cosines. A
budget is served the longest prefix that fits in bytes. Its paper's loss is a softmax, as ours is.
Left open: the weights of the prefixes (equal ones, as in the paper), and what to do between two
trained prefixes (the longer one is cut).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.bases import Users
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.sampler import Batch
from experiments.baselines.contract import BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import (
    LARGEST,
    OUR_TRIALS,
    Training,
    blocks_of,
    fit_vectors,
    kept_vectors,
    our_config,
    paper_config,
    squares,
)

HALF_BYTES = 2


@dataclass(frozen=True)
class FixedSize:
    """A model of any dimension, stored number by number."""

    name: str
    """A method's name."""
    form: str
    """`float32` or `int8`."""
    tried: dict[str, list[dict[str, Any]]]
    """By loss, what is tried."""
    train: Callable[..., Training]
    """(split, dimensions, *, loss, settings, seed, device, epochs) -> the trained vectors."""

    @property
    def losses(self) -> tuple[str, ...]:
        """As in `Baseline`."""
        return tuple(self.tried)

    @property
    def sizes(self) -> str:
        """As in `Baseline`."""
        return "retrained" if self.form == "float32" else "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        return self.tried[loss]

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        D = widest(self.name, self.form, split.n_items, budget)
        trained = self.train(
            split, D, loss=loss, settings=settings, seed=seed, device=device, epochs=epochs
        )
        started = time.perf_counter()
        stored = {"items": trained.items} if self.form == "float32" else as_bytes(trained.items)
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted(self.form, stored, trained.users, D, seconds).within(budget)


def widest(method: str, form: str, n_items: int, budget: Budget) -> int:
    """The largest dimension, a prime above 64 aside, whose items and one vector of a person fit."""
    if form == "float32":
        D = budget.dimensions(items=n_items)
        least = FLOAT_BYTES * (n_items + 1)
    else:
        D = (budget.n_bytes - HALF_BYTES * n_items) // (n_items + FLOAT_BYTES)
        least = (HALF_BYTES + 1) * n_items + FLOAT_BYTES
    if D < 1:
        raise BudgetTooSmall(method, budget, least)
    return next(k for k in range(min(D, LARGEST), 0, -1) if all(blocks_of(k)))


def as_bytes(items: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers from -127 to 127, and a half-precision scale for each item."""
    scales = (np.abs(items).max(axis=1) / 127).astype(np.float16)
    safe = np.maximum(scales.astype(np.float32), np.finfo(np.float16).tiny)[:, None]
    numbers = np.clip(np.rint(items / safe), -127, 127).astype(np.int8)
    return {"numbers": numbers, "scales": scales}


@decoder("float32")
def plain(stored: Stored) -> np.ndarray:
    """(V, D) the items as they are."""
    return stored["items"]


@decoder("int8")
def from_bytes(stored: Stored) -> np.ndarray:
    """(V, D) bytes times scales."""
    scales = stored["scales"].astype(np.float32)[:, None]
    return np.asarray(stored["numbers"].astype(np.float32) * scales)


PMF_EPOCHS, PMF_OUR_EPOCHS = 40, 28
PMF_TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"negatives": 4, "l2": 0.01, "init_scale": 0.5},
        {"negatives": 4, "l2": 0.05, "init_scale": 0.5},
        {"negatives": 16, "l2": 0.01, "init_scale": 0.5},
        {"negatives": 16, "l2": 0.05, "init_scale": 0.5},
    ],
    "ours": [*OUR_TRIALS[:3], OUR_TRIALS[1] | {"aggregation": False}],
}


def train_pmf(
    split: Split, dimensions: int, *,
    loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None,
) -> Training:  # fmt: skip
    """The vectors of PMF by its own loss or by ours."""
    if loss == "paper":
        config = paper_config(dimensions, settings, seed, epochs or PMF_EPOCHS)
        return fit_vectors(split, config, device, loss=squares)
    config = our_config(split, dimensions, settings, seed, epochs or PMF_OUR_EPOCHS)
    return fit_vectors(split, config, device)


PMF = FixedSize("pmf", "float32", PMF_TRIALS, train_pmf)
PMF_INT8 = FixedSize(
    "pmf-int8", "int8", {"paper": PMF_TRIALS["paper"][::2], "ours": OUR_TRIALS[:2]}, train_pmf
)


LIGHTGCN_EPOCHS, LIGHTGCN_OUR_EPOCHS = 48, 24
LIGHTGCN_TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"layers": 3, "negatives": 1, "l2": 1e-4},
        {"layers": 3, "negatives": 32, "l2": 1e-3, "init": "random", "init_scale": 0.8},
    ],
    "ours": [
        {"layers": 1, "temperature": 0.07, "cooccurrence": 1.0},
        {"layers": 2, "temperature": 0.1, "cooccurrence": 0.3},
    ],
}


def train_lightgcn(
    split: Split, dimensions: int, *,
    loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None,
) -> Training:  # fmt: skip
    """The vectors of LightGCN by its own loss or by ours."""
    given = settings | {"base": "lightgcn", "aggregation": False}
    if loss == "paper":
        config = paper_config(dimensions, given, seed, epochs or LIGHTGCN_EPOCHS)
    else:
        config = our_config(split, dimensions, given, seed, epochs or LIGHTGCN_OUR_EPOCHS)
    return fit_vectors(split, config, device)


LIGHTGCN = FixedSize("lightgcn", "float32", LIGHTGCN_TRIALS, train_lightgcn)
LIGHTGCN_INT8 = FixedSize("lightgcn-int8", "int8", LIGHTGCN_TRIALS, train_lightgcn)


NESTED_EPOCHS = 28
PREFIXES = (8, 16, 32, 64, 128, LARGEST)
FORM = "int8"
NESTED_TRIALS = [trial | {"values": FORM} for trial in OUR_TRIALS]


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
        return NESTED_TRIALS

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        del loss  # ours alone
        k = min(LARGEST, widest(self.name, FORM, split.n_items, budget))
        config = our_config(split, LARGEST, settings, seed, epochs or NESTED_EPOCHS)
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
