"""Composition: how many columns and neighbour slots each item has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Composition:
    """Columns and slots that a device keeps of each of V items; a prefix of the stream has one."""

    columns: np.ndarray
    """(V,) uint16: an item has columns 0 … n - 1."""
    slots: np.ndarray
    """(V,) uint8: an item has the first n slots of its neighbour list."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", np.asarray(self.columns, dtype=np.uint16))
        object.__setattr__(self, "slots", np.asarray(self.slots, dtype=np.uint8))
        if self.columns.ndim != 1 or self.columns.shape != self.slots.shape:
            raise ValueError(
                f"columns {self.columns.shape} and slots {self.slots.shape}, "
                "expected one number per item in both"
            )

    @classmethod
    def uniform(cls, n_items: int, columns: int, slots: int) -> Composition:
        """Every item has the same number of columns and slots."""
        return cls(np.full(n_items, columns), np.full(n_items, slots))

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.columns)

    @property
    def listable(self) -> np.ndarray:
        """(V,) bool: an item with a column or a slot can be recommended."""
        return np.asarray((self.columns > 0) | (self.slots > 0))

    def runs(self) -> list[tuple[int, int, int, int]]:
        """Ranges of items alike in both: (first, stop, columns, slots), in order."""
        key = self.columns.astype(np.int64) << 8 | self.slots
        edges = np.flatnonzero(np.diff(key)) + 1
        starts = [0, *edges.tolist()] if len(key) else []
        stops = [*edges.tolist(), len(key)]
        return [
            (a, b, int(self.columns[a]), int(self.slots[a]))
            for a, b in zip(starts, stops, strict=False)
        ]
