"""TrainConfig: every setting of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.settings import (
    Chance,
    Count,
    Positive,
    Power,
    Range,
    Rate,
    Rounds,
    Seed,
    Settings,
    Share,
    Weight,
)

TEMPERATURE = Annotated[float, Range(1e-3, 100)]


@dataclass(frozen=True, repr=False)
class TrainConfig(Settings):
    """Settings of one training; equal settings, split and seed give an equal model on a CPU.

    The defaults are the recipe for any data; `sized` adapts it to how much data there is.
    """

    base: Literal["history", "mf", "lightgcn"] = "history"
    """The model: `history` has item vectors alone, `mf` and `lightgcn` user vectors, too."""
    n_blocks: Annotated[int, Range(1, 4096)] = 16
    """N: blocks per item."""
    block_size: Annotated[int, Range(1, 64)] = 8
    """d: numbers per block."""
    score: Literal["aligned", "tiled"] = "aligned"
    """The product of user and blocks: block by block, or `tiled` (Eq. 2 as printed)."""
    loss: Literal["softmax", "bpr"] = "softmax"
    """`softmax` over shared sampled items on cosine scores, or `bpr` on plain products."""
    epochs: Annotated[int, Range(0, 10_000)] = 0
    """Visits to every train pair, at most; 0 derives it from `visits`, see `sized`."""
    visits: Count = 350
    """Visits to the pairs of an average item that are enough; for a derived number of epochs."""
    fewest_epochs: Rounds = 10
    """A derived number of epochs is at least this."""
    most_epochs: Rounds = 20
    """A derived number of epochs is at most this."""
    batch_size: Annotated[int, Range(1, 2**24)] = 16384
    """Train pairs per step; where users are sums of items, they come whole until there are so
    many. Small data take fewer, see `sized`."""
    fewest_steps: Count = 50
    """Batches are halved until an epoch has so many steps."""
    smallest_batch: Annotated[int, Range(1, 2**24)] = 64
    """Batches are never halved below this."""
    learning_rate: Annotated[float, Range(1e-9, 10)] = 4e-3
    """Adam's step at the start."""
    betas: tuple[Rate, Rate] = (0.9, 0.999)
    """Adam's decay rates."""
    epsilon: Annotated[float, Range(1e-30, 1)] = 1e-8
    """Adam's guard against a division by zero."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """`cosine` lowers the learning rate to 0 over all epochs."""
    negatives: Annotated[int, Range(1, 2**20)] = 4096
    """`softmax`: items sampled per step and shared, at most half of all items, see `sized`;
    `bpr`: items per pair, of which the hardest counts."""
    permuted: Count = 8
    """`softmax`: a catalogue of at most so many items per sampled one is permuted to sample;
    a larger one is drawn from, and equal draws count once."""
    redraws: Annotated[int, Range(0, 1000)] = 16
    """`bpr`: draws of an item that the user took, replaced before it stays as a negative."""
    temperature: TEMPERATURE = 0.1
    """`softmax`: cosine scores are divided by it."""
    temperatures: tuple[TEMPERATURE, ...] | tuple[()] = (0.15, 0.2, 0.3)
    """`softmax`: others that short trainings try on validation, outwards; none tries nothing. Lower
    ones are left out: what they gain is in details of the vectors that coarse codes lose."""
    trial_share: Annotated[float, Range(0.001, 1)] = 0.25
    """Share of the epochs that such a trial takes."""
    cooccurrence: Weight = 0.3
    """`softmax`: weight of the term that pulls a user to items co-occurring with those she took."""
    cooccurrence_k: Annotated[int, Range(1, 1000)] = 10
    """Co-occurring items of each item among which that term draws."""
    layers: Annotated[int, Range(0, 16)] = 3
    """L of `lightgcn`."""
    readout: Literal["mean", "final"] = "mean"
    """`lightgcn`: the mean of layers 0 … L, or the final layer as in the paper."""
    diversity: Weight = 0.0
    """λ of Eq. 3: weight of the diversity term, a mean over the batch's items."""
    diversity_form: Literal["bounded", "printed"] = "bounded"
    """Diversity of unit-norm blocks, or Eq. 3 as printed, which is unbounded below."""
    l2: Weight = 0.0
    """Weight of half the squared norm of the batch's rows."""
    popularity_exponent: Annotated[float, Range(-1, 10)] = -1.0
    """`softmax`: scores are multiplied by popularity to this power; -1: validation chooses it."""
    exponents: tuple[Power, ...] = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2)
    """Candidates for that power, rising from 0."""
    exponent_patience: Rounds = 2
    """Candidates in a row without a better mean after which no larger one is tried."""
    recency: Annotated[float, Range(-1, 1000)] = -1.0
    """A person is a sum of items, of which one that a others followed weighs 1 / (1 + recency · a);
    -1: validation chooses it, where the order of histories is known."""
    recencies: tuple[Annotated[float, Range(0, 1000)], ...] | tuple[()] = (0.1, 0.3, 1.0, 3.0, 10.0)
    """Candidates for it, beside 0."""
    init: Literal["spectral", "random"] = "spectral"
    """First vectors: singular vectors of the graph, or random ones."""
    init_scale: Positive = 1.0
    """Norm of the first vectors."""
    init_power: Annotated[float, Range(1e-6, 10)] = 0.5
    """`spectral`: singular values are raised to this before rows are brought to that norm."""
    init_rounds: Annotated[int, Range(1, 1000)] = 6
    """`spectral`: rounds of subspace iteration; training goes on from there."""
    init_spare: Annotated[int, Range(0, 1000)] = 16
    """`spectral`: directions that are iterated beside the D that are kept."""
    init_noise: Share = 1e-4
    """`spectral`: noise on each number of items, so that no two start alike."""
    metric: str = "recall@50"
    """The metric on validation by which the best epoch and the exponent are chosen."""
    evaluate_every: Rounds = 10
    """Epochs between two validations."""
    doubt: Chance = 0.025
    """Chance by which an exponent may replace 0 where none is better."""
    patience: Annotated[int, Range(0, 10_000)] = 0
    """Validations without a better value before training stops; 0 never stops early."""
    validation_users: Count = 10_000
    """Users, drawn by the seed, whose validation items are ranked; at most everyone."""
    seed: Seed = 0
    """Seed of first vectors, sequence and samples."""

    @property
    def dimensions(self) -> int:
        """D = N·d."""
        return self.n_blocks * self.block_size

    def sized(self, train: Pairs) -> TrainConfig:
        """The settings as used on some train pairs: what depends on their number is derived.

        Derived `epochs` are 10 for dense data such as goodbooks (65 pairs per item), 20 for
        Gowalla (17).
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
        super().__post_init__()
        for name in ("popularity_exponent", "recency"):
            value = getattr(self, name)
            if not (value >= 0 or value == -1):
                raise InputError(f"{name} is {value}; expected -1, or 0 or more")
        if self.exponents[:1] != (0.0,) or list(self.exponents) != sorted(set(self.exponents)):
            raise InputError(f"exponents are {self.exponents}; expected to rise from 0")
        parse_metric(self.metric)
        if self.loss == "bpr" and self.cooccurrence:
            raise InputError(f"cooccurrence is {self.cooccurrence} with loss='bpr', expected 0")
