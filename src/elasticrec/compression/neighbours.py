"""Neighbours: for each item the items whose presence in a history votes for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.training.cooccurrence import count_cooccurrence
from elasticrec.compression.linear import PLAIN, LinearConfig, held_back, linear_lists
from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.data.interactions import Pairs, fingerprint

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SLOTS = 64
"""The longest list of neighbours that an item may carry."""
SHORTEST, SHARE = 16, 256
"""Lists of small catalogues: one in so many items, but no fewer than 16."""
_SPAN = (0.05, 0.999)
"""Quantiles of the weights that the lowest and the highest level stand at."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Short lists, one per item, strongest first: a shorter list is a prefix of a longer one."""

    numbers: np.ndarray
    """(V, S) uint32 item numbers by falling weight, S up to 64; 0 where a slot is empty."""
    weights: np.ndarray
    """(V, S) uint8 from 1 to 15, falling; 0 where a slot is empty."""
    values: np.ndarray
    """(16,) float32, rising: what each weight adds to a vote; the first is 0."""

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.numbers)

    @property
    def slots(self) -> int:
        """S: the longest list there may be."""
        return int(self.numbers.shape[1])

    def votes(self, history: csr_matrix, count: int, start: int, stop: int) -> np.ndarray:
        """(n, stop - start) float32: what n histories vote for the items start … stop - 1.

        Args:
            history: (n, V) sparse ones.
            count: how many slots of each item's list are in use.
        """
        from scipy.sparse import csr_matrix

        chosen = self.weights[start:stop, :count]
        target, slot = np.nonzero(chosen)
        voters = self.numbers[start:stop][target, slot].astype(np.int64)
        lists = csr_matrix(
            (self.values[chosen[target, slot]], (voters, target)),
            shape=(self.n_items, stop - start),
        )
        return np.asarray((history.astype(np.float32) @ lists).toarray(), dtype=np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        return {"numbers": self.numbers, "weights": self.weights, "values": self.values}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Neighbours:
        """The lists that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["numbers"], stored["weights"], stored["values"])


def longest_list(n_items: int) -> int:
    """S: how long the lists of a catalogue are, a power of two from 16 to 64."""
    return int(min(max(SHORTEST, 1 << max(n_items // SHARE, 1).bit_length() - 1), SLOTS))


def check_lists(counts: np.ndarray, neighbours: Neighbours) -> None:
    """Nothing, or an error about rows of a menu that keep more neighbours than there are."""
    most = int(counts.max(initial=0))
    if most > neighbours.slots:
        raise InputError(f"a menu of up to {most} neighbours, lists of {neighbours.slots}")


@dataclass(frozen=True)
class CooccurrenceConfig:
    """The weight of voter j for target i: Σ_u |u|^-user / (|i|^target · |j|^voter)."""

    user_power: float = 0.25
    """How little a person with many items says about any two of them."""
    voter_power: float = 0.4
    """How much less an item that many took says: it decides who is chosen."""
    target_power: float = 0.3
    """How much less votes for a popular item count: it decides who wins."""


def cooccurrence_neighbours(
    train: Pairs, k: int | None = None, config: CooccurrenceConfig | None = None
) -> Neighbours:
    """Each item's k strongest co-occurring items; k as the catalogue has it by default."""
    config, k = config or CooccurrenceConfig(), k or longest_list(train.n_items)
    found = count_cooccurrence(
        train, k, user_power=config.user_power, item_power=config.voter_power
    )
    popularity = np.maximum(train.per_item, 1)[:, None]
    scale = popularity ** (config.voter_power - config.target_power)
    return packed(found.items, found.weights * scale)


def linear_neighbours(
    train: Pairs, k: int | None = None, config: LinearConfig | None = None
) -> Neighbours:
    """Each item's k best voters by a sparse linear model, see `coding.linear`."""
    found = linear_lists(train, k or longest_list(train.n_items), config or LinearConfig())
    return packed(found.items, found.weights)


def both_linear(train: Pairs, k: int | None = None) -> tuple[Neighbours, Neighbours]:
    """The lists of a linear model with its default settings, and as the regression has them.

    Both have the same voters, so they are chosen once.
    """
    plain = linear_lists(train, k or longest_list(train.n_items), PLAIN)
    usual = held_back(plain.weights, train, LinearConfig().target_power)
    return packed(plain.items, usual), packed(plain.items, plain.weights)


def packed(items: np.ndarray, weights: np.ndarray) -> Neighbours:
    """Lists as they are stored, weights on fifteen levels.

    Levels are geometric from the 5 % to the 99.9 % quantile of all weights, since what counts is by
    how much one vote exceeds another; each stands for the mean of what falls on it.

    Args:
        items: (V, S) numbers, -1 where a list has ended.
        weights: (V, S), falling.
    """
    if items.shape[1] > SLOTS:
        raise InputError(f"lists of {items.shape[1]} neighbours, expected at most {SLOTS}")
    used = (items >= 0) & (weights > 0)
    level, values = _levels(weights[used])
    numbers = np.zeros(items.shape, dtype=np.uint32)
    levels = np.zeros(items.shape, dtype=np.uint8)
    target, slot = np.nonzero(used)
    numbers[target, slot] = items[used]
    levels[target, slot] = level
    return Neighbours(numbers, levels, values)


def _levels(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) the level, 1 to 15, of each weight above 0, and (16,) float32 what levels stand for."""
    if not len(weights):
        return np.zeros(0, dtype=np.uint8), np.linspace(0, 1, 16, dtype=np.float32)
    logs = np.log(weights.astype(np.float64))
    low, high = np.quantile(logs, _SPAN)
    step = (high - low) / 14 or 1.0
    level = np.clip(np.rint((logs - low) / step) + 1, 1, 15).astype(np.uint8)
    values = np.exp(low + step * np.arange(-1, 15))
    counts = np.bincount(level, minlength=16)
    sums = np.bincount(level, weights.astype(np.float64), minlength=16)
    values[counts > 0] = sums[counts > 0] / counts[counts > 0]
    values[0] = 0
    return level, values.astype(np.float32)
