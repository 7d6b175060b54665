"""Budget: bytes, with a type. Composition: what a device keeps of each item within them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral

import numpy as np

from elasticrec.errors import InputError

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}
LARGEST = 2**62
"""No budget is larger: sums of bytes stay within 64 bits."""
FLOAT_BYTES = 4
"""Bytes of one 32-bit float."""


@dataclass(frozen=True, order=True)
class Budget:
    """Bytes that a device grants; a megabyte is 10^6 of them."""

    n_bytes: int
    """At least 1."""

    def __post_init__(self) -> None:
        if not 1 <= self.n_bytes <= LARGEST:
            raise InputError(f"a budget of {self.n_bytes} bytes, expected 1 to {LARGEST}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget that `5MB`, `512KB`, `1MiB`, `2.5 MB` or `5000000` (plain bytes) spells."""
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text, re.ASCII)
        if match is None or match[2].lower() not in UNITS:
            raise InputError(f"{text!r} is not a size; try 5MB, 512KB, 1MiB or 5000000")
        exact = Decimal(match[1]) * UNITS[match[2].lower()]
        if match[2] == "" and exact != int(exact):
            raise InputError(f"{text!r} is no whole number of bytes; did you mean {text}MB?")
        if not 1 <= exact <= LARGEST:
            raise InputError(f"{text!r} is {exact:f} bytes, expected 1 to {LARGEST}")
        return cls(int(exact))

    @classmethod
    def of(cls, size: str | int) -> Budget:
        """The budget of a text such as `5MB`, or of a whole number of bytes."""
        if isinstance(size, str):
            return cls.parse(size)
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise InputError(f"a budget of {size!r}, expected a text such as '5MB', or whole bytes")
        return cls(int(size))

    def __str__(self) -> str:
        for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
            if self.n_bytes >= size:
                return f"{(Decimal(self.n_bytes) / size).normalize():f} {unit}"
        return f"{self.n_bytes} B"

    def dimensions(self, *, items: int) -> int:
        """Dimensions of a fixed-size float32 table of all items and one user within the budget."""
        return self.n_bytes // ((items + 1) * FLOAT_BYTES)


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

    def __repr__(self) -> str:
        return f"Composition({self.n_items:,} items, {len(self.runs()):,} ranges)"

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
