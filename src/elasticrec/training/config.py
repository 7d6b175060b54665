"""TrainConfig: everything that decides what is trained and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elasticrec.errors import InputError


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training; equal settings, split and seed give an equal model on CPU."""

    base: Literal["mf", "lightgcn", "history"] = "mf"
    """What is trained."""
    n_blocks: int = 16
    """N: blocks per item."""
    block_size: int = 8
    """d: numbers per block."""
    score: Literal["aligned", "tiled"] = "aligned"
    """How blocks meet a user; `tiled` is Eq. 2 as printed."""
    loss: Literal["softmax", "bpr"] = "softmax"
    """`softmax` over shared sampled items on cosine scores, or `bpr` on plain products."""
    epochs: int = 40
    """Times every train pair is visited, at most."""
    batch_size: int = 4096
    """Train pairs per step."""
    optimizer: Literal["adam", "adagrad"] = "adam"
    """`adagrad`, with one step size per row, is for `mf` with `bpr` and the faster one there."""
    learning_rate: float = 2e-3
    """The optimiser's step at the start; `adagrad` likes 0.05 to 0.1."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """`cosine` lowers the learning rate to 0 over all epochs."""
    negatives: int = 1024
    """`softmax`: items sampled per step and shared; `bpr`: items per pair, the hardest counts."""
    temperature: float = 0.1
    """`softmax`: cosine scores are divided by it."""
    own_negatives: bool = False
    """`softmax`: let items that a user has stay among the sampled ones that she is told from."""
    correction: bool = False
    """`softmax`: let the sampled items stand for all items, not only for themselves."""
    cooccurrence: float = 0.0
    """Weight of the term that pulls a user to items co-occurring with those she took."""
    cooccurrence_k: int = 10
    """How many co-occurring items of each item may be drawn for that term."""
    aggregation: bool = False
    """`mf`: a user is her own vector plus the normalised sum of her items."""
    layers: int = 3
    """L of `lightgcn`."""
    readout: Literal["mean", "final"] = "mean"
    """`lightgcn`: the mean of layers 0 … L, or the final layer as in the paper."""
    diversity: float = 0.0
    """λ: weight of the diversity term, a mean over the batch's items, beside the mean loss."""
    diversity_form: Literal["bounded", "printed"] = "bounded"
    """Unit-norm blocks, or Eq. 3 as printed, which is unbounded below."""
    elastic: float = 0.0
    """Weight of a second loss on a random subset of blocks, drawn anew each step."""
    l2: float = 0.0
    """Weight of half the squared norm of the batch's trainable rows."""
    popularity_gain: float = -1.0
    """`softmax`: afterwards scale items by popularity to this power; -1 lets validation choose."""
    init: Literal["spectral", "random"] = "spectral"
    """First vectors: singular vectors of the graph, or random ones."""
    init_scale: float = 1.0
    """Norm of the first vectors."""
    metric: str = "recall@20"
    """What early stopping watches on validation."""
    evaluate_every: int = 2
    """Epochs between two looks at validation."""
    patience: int = 4
    """Looks without a better value before training stops; 0 never stops early."""
    validation_users: int = 5000
    """Users (seeded) whose validation items are looked at."""
    seed: int = 0
    """Fixes initialisation, order and samples."""

    @property
    def dimensions(self) -> int:
        """D = N·d."""
        return self.n_blocks * self.block_size

    def __post_init__(self) -> None:
        choices = {
            "base": ("mf", "lightgcn", "history"),
            "score": ("aligned", "tiled"),
            "loss": ("softmax", "bpr"),
            "optimizer": ("adam", "adagrad"),
            "schedule": ("cosine", "constant"),
            "readout": ("mean", "final"),
            "diversity_form": ("bounded", "printed"),
            "init": ("spectral", "random"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                found = getattr(self, name)
                raise InputError(f"{name} is {found!r}; expected one of {', '.join(allowed)}")
        for name in ("n_blocks", "block_size", "epochs", "batch_size", "negatives",
                     "cooccurrence_k", "evaluate_every", "validation_users"):  # fmt: skip
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("learning_rate", "temperature", "init_scale"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("cooccurrence", "diversity", "elastic", "l2", "patience", "layers", "seed"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        if self.aggregation and self.base != "mf":
            raise InputError(f"aggregation belongs to base='mf', got {self.base!r}")
        more = self.aggregation or self.elastic or self.diversity or self.score == "tiled"
        if self.optimizer == "adagrad" and (self.base != "mf" or self.loss != "bpr" or more):
            raise InputError(
                "optimizer='adagrad' belongs to base='mf' with loss='bpr', and to aligned scores "
                "without aggregation, elastic or diversity"
            )
        if self.popularity_gain < 0 and self.popularity_gain != -1:
            raise InputError(
                f"popularity_gain must be -1 or not negative, got {self.popularity_gain}"
            )
        if self.loss == "bpr" and (self.cooccurrence or self.correction or self.own_negatives):
            raise InputError(
                "cooccurrence, correction and own_negatives belong to loss='softmax', got 'bpr'"
            )
