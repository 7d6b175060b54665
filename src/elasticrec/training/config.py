"""TrainConfig: every setting of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import parse_metric

_CHOICES = {
    "base": ("history", "mf", "lightgcn"),
    "score": ("aligned", "tiled"),
    "loss": ("softmax", "bpr"),
    "schedule": ("cosine", "constant"),
    "readout": ("mean", "final"),
    "diversity_form": ("bounded", "printed"),
    "init": ("spectral", "random"),
}
_POSITIVE = ("n_blocks", "block_size", "visits", "fewest_epochs", "most_epochs", "batch_size",
             "fewest_steps", "smallest_batch", "negatives", "cooccurrence_k", "evaluate_every",
             "validation_users", "learning_rate", "epsilon", "temperature", "own_norm",
             "trial_share", "temperatures", "init_scale", "init_power", "init_rounds",
             "exponent_patience", "permuted", "doubt")  # fmt: skip
_NOT_NEGATIVE = ("epochs", "cooccurrence", "diversity", "l2", "patience", "layers", "seed",
                 "redraws", "init_spare", "init_noise", "recencies")  # fmt: skip


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training; equal settings, split and seed give an equal model on a CPU.

    The defaults are the recipe for any data; `sized` adapts it to how much data there is.
    """

    base: Literal["history", "mf", "lightgcn"] = "history"
    """The model: `history` has item vectors alone, `mf` and `lightgcn` user vectors, too."""
    n_blocks: int = 16
    """N: blocks per item."""
    block_size: int = 8
    """d: numbers per block."""
    score: Literal["aligned", "tiled"] = "aligned"
    """The product of user and blocks: block by block, or `tiled` (Eq. 2 as printed)."""
    loss: Literal["softmax", "bpr"] = "softmax"
    """`softmax` over shared sampled items on cosine scores, or `bpr` on plain products."""
    epochs: int = 0
    """Visits to every train pair, at most; 0 derives it from `visits`, see `sized`."""
    visits: int = 350
    """Visits to the pairs of an average item that are enough; for a derived number of epochs."""
    fewest_epochs: int = 10
    """A derived number of epochs is at least this."""
    most_epochs: int = 20
    """A derived number of epochs is at most this."""
    batch_size: int = 16384
    """Train pairs per step; where users are sums of items, they come whole until there are so
    many. Small data take fewer, see `sized`."""
    fewest_steps: int = 50
    """Batches are halved until an epoch has so many steps."""
    smallest_batch: int = 64
    """Batches are never halved below this."""
    learning_rate: float = 4e-3
    """Adam's step at the start."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's decay rates."""
    epsilon: float = 1e-8
    """Adam's guard against a division by zero."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """`cosine` lowers the learning rate to 0 over all epochs."""
    negatives: int = 4096
    """`softmax`: items sampled per step and shared, at most half of all items, see `sized`;
    `bpr`: items per pair, of which the hardest counts."""
    permuted: int = 8
    """`softmax`: a catalogue of at most so many items per sampled one is permuted to sample;
    a larger one is drawn from, and equal draws count once."""
    redraws: int = 16
    """`bpr`: draws of an item that the user took, replaced before it stays as a negative."""
    temperature: float = 0.1
    """`softmax`: cosine scores are divided by it."""
    temperatures: tuple[float, ...] = (0.15, 0.2, 0.3)
    """`softmax`: others that short trainings try on validation, outwards; none tries nothing. Lower
    ones are left out: what they gain is in details of the vectors that coarse codes lose."""
    trial_share: float = 0.25
    """Share of the epochs that such a trial takes."""
    cooccurrence: float = 0.3
    """`softmax`: weight of the term that pulls a user to items co-occurring with those she took."""
    cooccurrence_k: int = 10
    """Co-occurring items of each item among which that term draws."""
    aggregation: bool = False
    """`mf`: a user is her own vector plus the normalised sum of her items."""
    own_norm: float = 0.3
    """`aggregation`: norm of a user's own first vector; the sum beside it has norm 1."""
    layers: int = 3
    """L of `lightgcn`."""
    readout: Literal["mean", "final"] = "mean"
    """`lightgcn`: the mean of layers 0 … L, or the final layer as in the paper."""
    diversity: float = 0.0
    """λ of Eq. 3: weight of the diversity term, a mean over the batch's items."""
    diversity_form: Literal["bounded", "printed"] = "bounded"
    """Diversity of unit-norm blocks, or Eq. 3 as printed, which is unbounded below."""
    l2: float = 0.0
    """Weight of half the squared norm of the batch's rows."""
    popularity_exponent: float = -1.0
    """`softmax`: scores are multiplied by popularity to this power; -1: validation chooses it."""
    exponents: tuple[float, ...] = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2)
    """Candidates for that power, rising from 0."""
    exponent_patience: int = 2
    """Candidates in a row without a better mean after which no larger one is tried."""
    recency: float = -1.0
    """A person is a sum of items, of which one that a others followed weighs 1 / (1 + recency · a);
    -1: validation chooses it, where the order of histories is known."""
    recencies: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    """Candidates for it, beside 0."""
    init: Literal["spectral", "random"] = "spectral"
    """First vectors: singular vectors of the graph, or random ones."""
    init_scale: float = 1.0
    """Norm of the first vectors."""
    init_power: float = 0.5
    """`spectral`: singular values are raised to this before rows are brought to that norm."""
    init_rounds: int = 6
    """`spectral`: rounds of subspace iteration; training goes on from there."""
    init_spare: int = 16
    """`spectral`: directions that are iterated beside the D that are kept."""
    init_noise: float = 1e-4
    """`spectral`: noise on each number of items, so that no two start alike."""
    metric: str = "recall@50"
    """The metric on validation by which the best epoch and the exponent are chosen."""
    evaluate_every: int = 10
    """Epochs between two validations."""
    doubt: float = 0.025
    """Chance by which an exponent may replace 0 where none is better."""
    patience: int = 0
    """Validations without a better value before training stops; 0 never stops early."""
    validation_users: int = 10_000
    """Users, drawn by the seed, whose validation items are ranked; at most everyone."""
    seed: int = 0
    """Seed of first vectors, sequence and samples."""

    @property
    def dimensions(self) -> int:
        """D = N·d."""
        return self.n_blocks * self.block_size

    def sized(self, train: Pairs) -> TrainConfig:
        """The settings as used on some train pairs: what depends on their number is derived.

        `batch_size` is halved until an epoch has `fewest_steps`.
        `negatives` of a softmax are at most half of all items.
        `epochs`, where 0, give the pairs of an average item `visits` visits: 10 epochs for dense
        data such as goodbooks (65 pairs per item), 20 for Gowalla (17).
        """
        size = self.batch_size
        while size // 2 >= self.smallest_batch and len(train) < self.fewest_steps * size:
            size //= 2
        negatives = self.negatives
        if self.loss == "softmax":
            negatives = min(negatives, max(1, train.n_items // 2))
        epochs = self.epochs
        if not epochs:
            wanted = round(self.visits * train.n_items / max(len(train), 1))
            epochs = min(max(wanted, self.fewest_epochs), self.most_epochs)
        return replace(self, batch_size=size, negatives=negatives, epochs=epochs)

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                found = getattr(self, name)
                raise InputError(f"{name} is {found!r}; expected one of {', '.join(allowed)}")
        for name in _POSITIVE:
            if not (np.ravel(getattr(self, name)) > 0).all():
                raise InputError(f"{name} is {getattr(self, name)}; expected a positive number")
        for name in _NOT_NEGATIVE:
            if not (np.ravel(getattr(self, name)) >= 0).all():
                raise InputError(f"{name} is {getattr(self, name)}; expected 0 or more")
        for name in ("popularity_exponent", "recency"):
            value = getattr(self, name)
            if not (value >= 0 or value == -1):
                raise InputError(f"{name} is {value}; expected -1, or 0 or more")
        if self.exponents[:1] != (0.0,) or list(self.exponents) != sorted(set(self.exponents)):
            raise InputError(f"exponents are {self.exponents}; expected to rise from 0")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise InputError(f"betas are {self.betas}; expected two rates below 1")
        parse_metric(self.metric)
        if self.aggregation and self.base != "mf":
            raise InputError(f"aggregation is for base='mf', got {self.base!r}")
        if self.loss == "bpr" and self.cooccurrence:
            raise InputError(
                f"cooccurrence is {self.cooccurrence} with loss='bpr'; expected 0, or 'softmax'"
            )
