"""Neighbours: for each item the items whose presence in a history votes for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.files import written_whole
from elasticrec.data.interactions import fingerprint

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SLOTS = 16
"""The longest list of neighbours that an item may carry."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Short lists, one per item, strongest first: a shorter list is a prefix of a longer one."""

    numbers: np.ndarray
    """(V, 16) uint32 item numbers by falling weight; 0 where a slot is empty."""
    weights: np.ndarray
    """(V, 16) uint8 from 1 to 15, falling; 0 where a slot is empty."""
    values: np.ndarray
    """(16,) float32, rising: what each weight adds to a vote; the first is 0."""

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.numbers)

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
