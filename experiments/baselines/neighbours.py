"""Neighbours alone: votes of a history, by co-occurrence or by a sparse linear model.

`itemcf`: the strongest co-occurring items of each item. `sparse-linear`: EASE- or SLIM-like, a
ridge regression of each item on a few others. Both are packed as our own neighbours are, a number
of ⌈log2 V⌉ bits and a weight of 4 bits each, and need no vector from a server. Left open by papers:
how popular items and busy people are held back (tried), and how long lists should be. Longer ones
fit at larger budgets but often rank worse, so validation chooses a length among those that fit, and
weights may be raised to a power, which widens the gaps of long lists. A linear model chooses up to
16 voters one by one (`compression.linear`); longer lists are solved at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from elasticrec.compression.config import CompressionConfig, LinearConfig
from elasticrec.compression.linear import linear_lists, shared_weight
from elasticrec.compression.neighbours import Neighbours, pack_lists
from elasticrec.data.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.space import Budget
from experiments.baselines.contract import BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import by_popularity, validation_recall
from experiments.baselines.packing import pack, packed_bytes, unpack

WEIGHT_BITS = 4
LONGEST = 96
"""No list is longer; of the linear model two thirds of it."""
FIXED_BYTES = 16 * 2 + 2 * 4
"""Sixteen values of votes, and two counts."""
_TARGETS_AT_ONCE = 64


class Lists(NamedTuple):
    """Neighbours before they are packed."""

    items: np.ndarray
    """(V, k) numbers, -1 where a list has ended."""
    weights: np.ndarray
    """(V, k)."""


@dataclass(frozen=True)
class NeighboursAlone:
    """Lists of one source, as many neighbours for every item as fit and help."""

    name: str
    """`itemcf` or `sparse-linear`."""
    tried: list[dict[str, Any]]
    """Settings to be tried."""
    losses: tuple[str, ...] = ("none",)
    sizes: str = "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        del loss  # nothing is trained
        return self.tried

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`; loss, seed and epochs change nothing."""
        del loss, seed, epochs
        started = time.perf_counter()
        V = split.n_items
        if stored_bytes(V, 1) > budget.n_bytes:
            raise BudgetTooSmall(self.name, budget, stored_bytes(V, 1))
        fits = max(k for k in range(1, LONGEST + 1) if stored_bytes(V, k) <= budget.n_bytes)
        fits = min(fits, V - 1)
        order = by_popularity(split)
        train = split.renumbered(order).train
        make = _linear if self.name == "sparse-linear" else _cooccurring
        best, quality = None, -1.0
        for lists in make(train, fits, settings):
            fitted = Fitted("neighbours", stored(lists), None, 0, 0.0, order)
            value = validation_recall(fitted, split, device)
            if value >= quality:
                best, quality = fitted, value
        assert best is not None
        seconds = time.perf_counter() - started
        return Fitted("neighbours", best.stored, None, 0, seconds, order).within(budget)


def stored_bytes(n_items: int, slots: int) -> int:
    """All bytes of lists of so many neighbours."""
    return FIXED_BYTES + packed_bytes(n_items * slots, number_bits(n_items) + WEIGHT_BITS)


def number_bits(n_items: int) -> int:
    """Bits of one item's number, at least 1."""
    return max(1, (n_items - 1).bit_length())


def lengths(fits: int) -> list[int]:
    """The lengths that are compared on validation, rising; the last is what fits."""
    return [k for k in (4, 8, 16, 32, 64) if k < fits] + [fits]


def _cooccurring(train: Pairs, fits: int, settings: dict[str, Any]) -> Iterator[Lists]:
    """Co-occurrence lists of every length."""
    sharp = settings["sharpness"]
    found = count_cooccurrence(
        train, fits, user_power=settings["user_power"], item_power=settings["voter_power"]
    )
    popularity = np.maximum(train.per_item, 1)[:, None]
    scale = popularity ** (sharp * settings["voter_power"] - settings["target_power"])
    weights = found.weights.astype(np.float64) ** sharp * scale
    for k in lengths(fits):
        yield Lists(found.items[:, :k], weights[:, :k])


def _linear(train: Pairs, fits: int, settings: dict[str, Any]) -> Iterator[Lists]:
    """Lists of a linear model of every length."""
    config = LinearConfig(**settings)
    first = config.one_by_one
    short = linear_lists(train, min(fits, first), config)
    for k in lengths(min(fits, first)):
        yield Lists(short.items[:, :k], short.weights[:, :k])
    for k in sorted({min(fits, k) for k in (first, 2 * first, 4 * first)}):
        yield ridge_lists(train, k, config)


def ridge_lists(train: Pairs, k: int, config: LinearConfig) -> Lists:
    """Each item's k co-occurring items, weighed by one ridge regression on all of them.

    More candidates, of which the heaviest k stay, ranked worse on Gowalla.
    """
    from scipy.sparse import diags

    near = count_cooccurrence(
        train, k, user_power=config.user_power, item_power=config.voter_power
    ).items
    scale = np.maximum(train.per_user, 1) ** -config.user_power
    X = (train.csr().astype(np.float64).T @ diags(np.sqrt(scale))).tocsr()  # (V, U)
    ridge = config.ridge * float(scale @ train.per_user) / max(len(train), 1)
    weights = np.zeros(near.shape, dtype=np.float32)

    def solve(start: int) -> None:
        """Write the weights of some targets."""
        stop = min(start + _TARGETS_AT_ONCE, train.n_items)
        G = shared_weight(X, np.column_stack([near[start:stop], np.arange(start, stop)]))
        A = G[:, :k, :k] + ridge * np.eye(k)
        weights[start:stop] = np.linalg.solve(A, G[:, :k, k:])[..., 0]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(solve, range(0, train.n_items, _TARGETS_AT_ONCE)))
    popularity = np.maximum(train.per_item, 1)[:, None]
    return Lists(near, np.maximum(weights, 0) / popularity**config.target_power)


def stored(lists: Lists) -> dict[str, np.ndarray]:
    """The lists as they are stored, weights on the same fifteen levels as ours."""
    V, k = lists.items.shape
    packed = pack_lists(Cooccurrence(lists.items, lists.weights), CompressionConfig.vote_span)
    return {
        "numbers": pack(packed.numbers, number_bits(V)),
        "votes": pack(packed.votes, WEIGHT_BITS),
        "values": packed.values,
        "shape": np.array([V, k], dtype=np.int32),
    }


@decoder("neighbours")
def unpacked(stored: Stored) -> Neighbours:
    """The lists, ready to vote."""
    V, k = map(int, stored["shape"])
    numbers = unpack(stored["numbers"], V * k).reshape(V, k)
    votes = unpack(stored["votes"], V * k).reshape(V, k)
    return Neighbours(numbers.astype(np.uint32), votes.astype(np.uint8), stored["values"])


ITEMCF = NeighboursAlone(
    "itemcf",
    [
        {"user_power": 0.25, "voter_power": 0.4, "target_power": 0.3, "sharpness": 1.0},
        {"user_power": 0.25, "voter_power": 0.5, "target_power": 0.5, "sharpness": 2.0},
        {"user_power": 0.25, "voter_power": 0.4, "target_power": 0.4, "sharpness": 1.5},
        {"user_power": 0.5, "voter_power": 0.5, "target_power": 0.5, "sharpness": 2.0},
    ],
)
SPARSE_LINEAR = NeighboursAlone(
    "sparse-linear",
    [
        {"ridge": 60.0, "target_power": 0.2},
        {"ridge": 60.0, "target_power": 0.0},
        {"ridge": 60.0, "target_power": 0.4},
        {"ridge": 20.0, "target_power": 0.2},
    ],
)
