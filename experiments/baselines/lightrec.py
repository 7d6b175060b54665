"""LightRec (Lian et al., WWW '20): an item is the sum of one codeword from each of B codebooks.

Codes are found one after the other, each for what those before it left over, by an argmax whose
gradient is that of a softmax. Left open here: the start. Codebooks start as k-means of what is left
over of a table trained by the same loss, and are then trained with it by the library's loop; if
validation likes the start better, it stays. Codebooks are stored as halves, codes as 6 or 8 bits
(tried: 64 words for each of many codebooks, or 256 for each of few); where little fits, first the
codewords become fewer, then the dimensions. On cosines (our loss) a byte per
item for norm and gain is charged. Its paper's loss is taken to be BPR.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.bases import Base, Users, own_users
from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch
from experiments.baselines.composed import scaled, scales_of
from experiments.baselines.contract import (
    SCALE_ENDS_BYTES,
    BudgetTooSmall,
    Fitted,
    Stored,
    decoder,
    pack,
    packed_bytes,
    unpack,
)
from experiments.baselines.fitting import (
    Training,
    fit_vectors,
    kept_vectors,
    our_config,
    paper_config,
    reseeded,
    validation_recall,
)

ROUNDS = 25
MOST_PER_CENTROID = 256
"""Points that centroids are fitted to, for each of them; more change little."""
_NUMBERS_AT_ONCE = 1 << 25
SOFTNESS = 0.1
"""Of the softmax that lends the argmax its gradient, times the mean squared norm of an item."""


class Coded:
    """Users, items that are coded whenever they are used, and the codebooks."""

    name = "lightrec"
    whole_users = False

    def __init__(self, users: Tensor, items: Tensor, codebooks: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items, "codebooks": codebooks}
        self.softness = SOFTNESS * float(items.square().sum(dim=1).mean())

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The rows of the batch's users, and its items as sums of codewords."""
        items, places = leaves.rows("items", torch.cat(batch.items))
        coded = self.sums(items, leaves.whole("codebooks"))
        parts = places.split([len(part) for part in batch.items])
        return own_users(leaves, batch), take(coded, list(parts))

    def sums(self, items: Tensor, codebooks: Tensor) -> Tensor:
        """(n, D) sums of the chosen codewords; choices pass on the gradient of a softmax."""
        left, total = items, torch.zeros_like(items)
        for words in codebooks:
            near = left @ words.T - words.square().sum(dim=1) / 2  # (n, K)
            soft = torch.softmax(near / self.softness, dim=1)
            word = words.index_select(0, near.argmax(dim=1))
            total = total + word + (soft - soft.detach()) @ words.detach()
            left = left - word.detach()
        return total

    def codes(self) -> Tensor:
        """(V, B) the codes of all items."""
        return residual_codes(self.tables["items"], self.tables["codebooks"])

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) sums of codewords."""
        codebooks = self.tables["codebooks"]
        return self.tables["users"], summed(codebooks, self.codes())


def residual_codes(items: Tensor, codebooks: Tensor) -> Tensor:
    """(n, B) for each codebook the word nearest to what the words before it left over."""
    left, codes = items, []
    for words in codebooks:
        codes.append(nearest(left, words))
        left = left - words[codes[-1]]
    return torch.stack(codes, dim=1)


def summed(codebooks: Tensor, codes: Tensor) -> Tensor:
    """(n, D) the sums of the words that codes (n, B) name."""
    total = torch.zeros(len(codes), codebooks.shape[2], device=codes.device)
    for b, words in enumerate(codebooks):
        total += words[codes[:, b]]
    return total


def nearest(points: Tensor, centroids: Tensor) -> Tensor:
    """(n,) the centroid next to each point (n, w), some points at a time."""
    half = centroids.square().sum(dim=1) / 2
    size = max(1, _NUMBERS_AT_ONCE // len(centroids))
    return torch.cat([(half - part @ centroids.T).argmin(dim=1) for part in points.split(size)])


def kmeans(points: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """(k, w) centroids of points (n, w); one that nobody is next to moves to a random point."""
    chosen = torch.randperm(len(points), generator=generator, device=points.device)
    sample = points[chosen[: MOST_PER_CENTROID * k]]
    centroids = sample[torch.arange(k, device=points.device) % len(sample)].clone()
    for _ in range(ROUNDS):
        codes = nearest(sample, centroids)
        counts = torch.bincount(codes, minlength=k).unsqueeze(1)
        sums = torch.zeros_like(centroids).index_add_(0, codes, sample)
        at = torch.randint(len(sample), (k,), generator=generator, device=points.device)
        centroids = torch.where(counts > 0, sums / counts.clamp(min=1), sample[at])
    return centroids


PAPER_EPOCHS, OUR_EPOCHS = 32, 28
TUNING_SHARE = 8
"""Codebooks are trained in one in so many of the epochs that the table was trained in."""
FEWEST, FEWEST_BITS = 4, 4
"""Codebooks, and bits of a code, below which dimensions are given up instead."""
COUNT_BYTES = 4
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"dimensions": 128, "bits": 6, "codebooks": 64, "negatives": 4, "l2": 1e-2},
        {"dimensions": 128, "bits": 8, "codebooks": 64, "negatives": 8, "l2": 1e-3},
    ],
    "ours": [
        {"dimensions": 128, "bits": 6, "codebooks": 64},
        {"dimensions": 128, "bits": 8, "codebooks": 64},
    ],
}


class Shape(NamedTuple):
    """Dimensions, bits and number of codebooks."""

    dimensions: int
    bits: int
    """Of one code."""
    codebooks: int
    """B."""


@dataclass(frozen=True)
class LightRec:
    """Codebooks and codes."""

    name: str = "lightrec"
    losses: tuple[str, ...] = tuple(TRIALS)
    sizes: str = "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        return TRIALS[loss]

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        V, on_cosines = split.n_items, loss == "ours"
        beside = COUNT_BYTES + (V + SCALE_ENDS_BYTES if on_cosines else 0)
        shape = shape_for(V, settings, budget, beside, self.name)
        if on_cosines:
            config = our_config(split, shape.dimensions, settings, seed, epochs or OUR_EPOCHS)
        else:
            config = paper_config(shape.dimensions, settings, seed, epochs or PAPER_EPOCHS)
        first = kept_vectors(split, config, device)
        started = time.perf_counter()
        made = Start(first, shape, seed, on_cosines=on_cosines)
        fewer = {"epochs": max(1, config.epochs // TUNING_SHARE), "aggregation": False}
        config = reseeded(config, learning_rate=config.learning_rate / 4, **fewer)
        tuned = fit_vectors(split, config, device, make=made)
        base = made.base
        assert base is not None
        found = [
            Fitted("lightrec", stored, vectors.users, shape.dimensions, 0.0)
            for stored, vectors in (
                (made.arrays(first, made.codebooks, made.codes), first),
                (made.arrays(tuned, base.tables["codebooks"], base.codes()), tuned),
            )
        ]
        best = max(found, key=lambda fitted: validation_recall(fitted, split, device))
        seconds = first.seconds + time.perf_counter() - started
        return Fitted(
            "lightrec", best.stored, best.users, shape.dimensions, seconds
        ).within(budget)  # fmt: skip


def shape_for(
    n_items: int, settings: dict[str, Any], budget: Budget, beside: int, method: str
) -> Shape:
    """As many codebooks of 256 words as fit; fewer words or dimensions where that is very few."""

    def size(D: int, bits: int, B: int) -> int:
        each = 2 * 2**bits * D + packed_bytes(n_items, bits)
        return beside + FLOAT_BYTES * D + B * each

    D = settings["dimensions"]
    while D >= 1:
        for bits in range(settings["bits"], FEWEST_BITS - 1, -1):
            left = budget.n_bytes - size(D, bits, 0)
            B = left // (size(D, bits, 1) - size(D, bits, 0))
            if B >= FEWEST and 2**bits <= n_items:
                return Shape(D, bits, min(B, settings["codebooks"]))
        D //= 2
    raise BudgetTooSmall(method, budget, size(1, FEWEST_BITS, FEWEST))


class Start:
    """Makes the coded base for the training loop from a trained table, and keeps it."""

    def __init__(self, trained: Training, shape: Shape, seed: int, *, on_cosines: bool) -> None:
        self.trained, self.shape, self.seed = trained, shape, seed
        self.on_cosines = on_cosines
        self.base: Coded | None = None
        self.codebooks = self.codes = torch.zeros(0)

    def __call__(self, train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
        """The base whose codebooks are k-means of leftovers."""
        del train, config
        where = generator.device
        users = torch.tensor(self.trained.users, device=where)
        items = torch.tensor(self.trained.items, device=where)
        if self.on_cosines:  # without the gain, which is stored beside
            items = items / items.norm(dim=1, keepdim=True).clamp(min=1e-12)
        left, found = items, []
        for _ in range(self.shape.codebooks):
            found.append(kmeans(left, 2**self.shape.bits, generator))
            left = left - found[-1][nearest(left, found[-1])]
        self.codebooks = torch.stack(found)
        self.codes = residual_codes(items, self.codebooks)
        self.base = Coded(users, items, self.codebooks.clone())
        return self.base

    def arrays(self, vectors: Training, codebooks: Tensor, codes: Tensor) -> dict[str, np.ndarray]:
        """Codebooks and codes as they are stored."""
        numbers = codes.cpu().numpy()
        stored = {
            "codebooks": codebooks.detach().cpu().numpy().astype(np.float16),
            "codes": np.stack([pack(column, self.shape.bits) for column in numbers.T]),
            "n_items": np.array([len(numbers)], dtype=np.int32),
        }
        if self.on_cosines:
            stored |= scales_of(vectors, sums_of(stored))
        return stored


def sums_of(stored: Stored) -> np.ndarray:
    """(V, D) sums of the stored codewords, not yet scaled."""
    codebooks, V = stored["codebooks"].astype(np.float32), int(stored["n_items"][0])
    total = np.zeros((V, codebooks.shape[2]), dtype=np.float32)
    for words, planes in zip(codebooks, stored["codes"], strict=True):
        total += words[unpack(planes, V)]
    return total


@decoder("lightrec")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) sums of codewords, times their scales."""
    return scaled(sums_of(stored), stored)


LIGHTREC = LightRec()
