"""Neighbours: for each item the items whose presence in a history votes for it.

Votes weigh by one smooth function of how well an item's columns tell its vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.linear import linear_lists
from elasticrec.data.cooccurrence import Cooccurrence
from elasticrec.data.interactions import Pairs
from elasticrec.files import Arrays

LARGEST_VOTE = 10_000
"""The value of the largest vote; the others are shares of it."""


@dataclass(frozen=True, eq=False)
class Neighbours(Arrays):
    """Short lists, one per item, strongest first: a shorter list is a prefix of a longer one."""

    numbers: np.ndarray
    """(V, S) uint32 item numbers by falling vote, S up to 64; 0 where a slot is empty."""
    votes: np.ndarray
    """(V, S) uint8 from 1 to 15, falling; 0 where a slot is empty."""
    values: np.ndarray
    """(16,) uint16, rising: what each vote is worth; the first is 0."""
    min_support: int = 1
    """Distinct persons behind every entry, at least."""

    def __repr__(self) -> str:
        return f"Neighbours({self.n_items:,} items, up to {self.slots} each)"

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.numbers)

    @property
    def slots(self) -> int:
        """S: the longest list there may be."""
        return int(self.numbers.shape[1])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        out = {"numbers": self.numbers, "votes": self.votes, "values": self.values}
        return {**out, "min_support": np.array(self.min_support)}

    @classmethod
    def load(cls, path: Path | str) -> Neighbours:
        """The lists that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            numbers, votes, values = (stored[name] for name in ("numbers", "votes", "values"))
            return cls(numbers, votes, values, int(stored["min_support"]))


def make_neighbours(train: Pairs, config: CompressionConfig) -> Neighbours:
    """Each item's neighbours by the linear model, each with enough persons behind it."""
    k, support = config.slots(train.n_items), config.min_support
    lists = linear_lists(train, k, config.linear, min_support=support)
    return pack_lists(lists, config.vote_span, support)


def pack_lists(lists: Cooccurrence, span: tuple[float, float], min_support: int = 1) -> Neighbours:
    """Lists with their weights as fifteen votes.

    Votes are geometric over a span of the weights' quantiles, since what counts is by how much one
    weight exceeds another; each stands for the mean of what falls on it.

    Args:
        span: the quantiles at which the lowest and the highest vote stand.
        min_support: distinct persons behind every entry.
    """
    used = (lists.items >= 0) & (lists.weights > 0)
    vote, values = _votes(lists.weights[used], span)
    numbers = np.zeros(lists.items.shape, dtype=np.uint32)
    votes = np.zeros(lists.items.shape, dtype=np.uint8)
    numbers[used] = lists.items[used]
    votes[used] = vote
    return Neighbours(numbers, votes, values, min_support)


def _votes(weights: np.ndarray, span: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """(n,) the vote, 1 to 15, of each weight above 0, and (16,) uint16 what votes are worth."""
    if not len(weights):
        return np.zeros(0, np.uint8), np.linspace(0, LARGEST_VOTE, 16).astype(np.uint16)
    logs = np.log(weights.astype(np.float64))
    low, high = np.quantile(logs, span)
    gap = (high - low) / 14 or 1.0
    vote = np.clip(np.rint((logs - low) / gap) + 1, 1, 15).astype(np.uint8)
    values = np.exp(low + gap * np.arange(-1, 15))
    counts = np.bincount(vote, minlength=16)
    sums = np.bincount(vote, weights.astype(np.float64), minlength=16)
    values[counts > 0] = sums[counts > 0] / counts[counts > 0]
    values = np.minimum(values, values[counts > 0].max())  # votes that nobody casts
    values[0] = 0
    worth = np.maximum.accumulate(np.rint(values / values.max() * LARGEST_VOTE))
    return vote, worth.astype(np.uint16)


@dataclass(frozen=True)
class VoteWeight:
    """λ = scale · (1 - cosine + floor)^power, the cosine of decoded and trained vectors."""

    scale: float
    """The weight beside no codes at all."""
    power: float
    """Votes count less as codes get better; 0 is the same weight everywhere."""
    floor: float
    """Share of a vector that no code is believed to tell, so that votes never lose all weight."""

    def at(self, cosines: np.ndarray) -> np.ndarray:
        """(C + 1,) float32 weights of items with 0, 1, … C columns."""
        return np.asarray(self.scale * (1 - cosines + self.floor) ** self.power, dtype=np.float32)
