"""TrainConfig: every setting of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import parse_metric

if TYPE_CHECKING:
    from elasticrec.data.interactions import Pairs

FEWEST_STEPS = 100
"""Steps per epoch: batches are halved until an epoch has as many."""
SMALLEST_BATCH = 64
"""Batches are never halved below this."""
FEWEST_EPOCHS, MOST_EPOCHS = 8, 40
"""Limits of a derived number of epochs."""

_CHOICES = {
    "base": ("history", "mf", "lightgcn"),
    "score": ("aligned", "tiled"),
    "loss": ("softmax", "bpr"),
    "schedule": ("cosine", "constant"),
    "readout": ("mean", "final"),
    "diversity_form": ("bounded", "printed"),
    "init": ("spectral", "random"),
}
_POSITIVE = ("n_blocks", "block_size", "visits", "batch_size", "negatives", "cooccurrence_k",
             "evaluate_every", "validation_users", "learning_rate", "temperature",
             "init_scale")  # fmt: skip
_NOT_NEGATIVE = ("epochs", "cooccurrence", "diversity", "l2", "patience", "layers", "seed")


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
    visits: int = 550
    """Visits to the pairs of an average item that are enough; for a derived number of epochs."""
    batch_size: int = 4096
    """Train pairs per step, at most; small data take fewer, see `sized`."""
    learning_rate: float = 4e-3
    """Adam's step at the start."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """`cosine` lowers the learning rate to 0 over all epochs."""
    negatives: int = 4096
    """`softmax`: items sampled per step and shared, at most half of all items, see `sized`;
    `bpr`: items per pair, of which the hardest counts."""
    temperature: float = 0.1
    """`softmax`: cosine scores are divided by it."""
    cooccurrence: float = 0.3
    """`softmax`: weight of the term that pulls a user to items co-occurring with those she took."""
    cooccurrence_k: int = 10
    """Co-occurring items of each item among which that term draws."""
    aggregation: bool = False
    """`mf`: a user is her own vector plus the normalised sum of her items."""
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
    init: Literal["spectral", "random"] = "spectral"
    """First vectors: singular vectors of the graph, or random ones."""
    init_scale: float = 1.0
    """Norm of the first vectors."""
    metric: str = "recall@50"
    """The metric on validation by which the best epoch and the exponent are chosen."""
    evaluate_every: int = 8
    """Epochs between two validations."""
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

        `batch_size` is halved until an epoch has a hundred steps, but not below 64.
        `negatives` of a softmax are at most half of all items.
        `epochs`, where 0, give the pairs of an average item `visits` visits: 8 epochs for dense
        data such as goodbooks (65 pairs per item), 32 for Gowalla (17), 40 at most.
        """
        size = self.batch_size
        while size // 2 >= SMALLEST_BATCH and len(train) < FEWEST_STEPS * size:
            size //= 2
        negatives = self.negatives
        if self.loss == "softmax":
            negatives = min(negatives, max(1, train.n_items // 2))
        epochs = self.epochs
        if not epochs:
            wanted = round(self.visits * train.n_items / max(len(train), 1))
            epochs = min(max(wanted, FEWEST_EPOCHS), MOST_EPOCHS)
        return replace(self, batch_size=size, negatives=negatives, epochs=epochs)

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                found = getattr(self, name)
                raise InputError(f"{name} is {found!r}; expected one of {', '.join(allowed)}")
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}; expected a positive number")
        for name in _NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)}; expected 0 or more")
        exponent = self.popularity_exponent
        if not (exponent >= 0 or exponent == -1):
            raise InputError(f"popularity_exponent is {exponent}; expected -1, or 0 or more")
        parse_metric(self.metric)
        if self.aggregation and self.base != "mf":
            raise InputError(f"aggregation is for base='mf', got {self.base!r}")
        if self.loss == "bpr" and self.cooccurrence:
            raise InputError(
                f"cooccurrence is {self.cooccurrence} with loss='bpr'; expected 0, or 'softmax'"
            )
