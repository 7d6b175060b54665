"""Budget: bytes, with a type. Accounting: what a composition costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space.composition import Composition

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}
LARGEST = 2**62
"""No budget is larger: sums of bytes stay within 64 bits."""
FLOAT_BYTES = 4
"""Bytes of one 32-bit float."""


@dataclass(frozen=True, order=True)
class Budget:
    """How many bytes a device grants; a megabyte is 10^6 of them."""

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
            raise InputError(
                f"{text!r} is no budget, expected a positive number of bytes or one with a unit: "
                "5000000, 512KB, 5MB, 1.5MB, 1MiB"
            )
        exact = Decimal(match[1]) * UNITS[match[2].lower()]
        if match[2] == "" and exact != int(exact):
            raise InputError(f"{text!r} is no whole number of bytes; did you mean {text}MB?")
        if not 1 <= exact <= LARGEST:
            raise InputError(f"{text!r} is {exact:f} bytes, expected 1 to {LARGEST}")
        return cls(int(exact))

    @classmethod
    def megabytes(cls, megabytes: float) -> Budget:
        """So many times 10^6 bytes."""
        return cls(round(megabytes * 10**6))

    def __str__(self) -> str:
        unit, size = next(
            (unit, size)
            for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("bytes", 1))
            if self.n_bytes >= size
        )
        if size == 1:
            return f"{self.n_bytes} B"
        return f"{(Decimal(self.n_bytes) / size).normalize():f} {unit}"

    def blocks(self, *, items: int, groups: int, d: int = 8, n: int = 16) -> int:
        """M, the float32 blocks that fit beside one user vector (Sec. 5.1), at most N·G.

        A block is that of a largest group: if groups differ by at most one item, any M fit.
        """
        left = self.n_bytes - n * d * FLOAT_BYTES
        return max(0, min(n * groups, left // (-(-items // groups) * d * FLOAT_BYTES)))

    def dimensions(self, *, items: int) -> int:
        """How wide a fixed-size float32 table of all items and one user may be."""
        return self.n_bytes // ((items + 1) * FLOAT_BYTES)


class Accounting(Protocol):
    """What a composition costs: a fixed part plus one part per group, which depends on its row."""

    group_sizes: np.ndarray
    """(G,) items per group."""

    @property
    def fixed_bytes(self) -> int:
        """What any composition costs."""
        ...

    @property
    def needs_block(self) -> bool:
        """Whether each group must keep at least one block."""
        ...

    def row_table(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(G, R) int64 bytes of every group under every row.

        Args:
            depths: (R, N) uint8.
            neighbours: (R,) uint8.
        """
        ...

    def sizes(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) int64 bytes of many compositions: depths (B, G, N), neighbours (B, G)."""
        ...

    def row_bytes(self, group: int, depths: np.ndarray, neighbours: int) -> int:
        """Bytes of one group that keeps one row: depths (N,) and a count of neighbours."""
        table = self.row_table(np.asarray(depths)[None], np.array([neighbours]))
        return int(table[group, 0])

    def size(self, composition: Composition) -> int:
        """Bytes of one composition."""
        return int(self.sizes(composition.depths[None], composition.neighbours[None])[0])


@dataclass(frozen=True, eq=False)
class PaperAccounting(Accounting):
    """The paper's: one float32 user vector, and the blocks kept; each group keeps one at least."""

    group_sizes: np.ndarray
    """(G,) items per group."""
    n_blocks: int
    """N."""
    block_size: int
    """d."""

    @property
    def fixed_bytes(self) -> int:
        """The user vector."""
        return self.n_blocks * self.block_size * FLOAT_BYTES

    @property
    def needs_block(self) -> bool:
        """Every group must keep one."""
        return True

    def _per_item(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(…) bytes of one item whose blocks have these depths (…, N): depth times d bits each."""
        if depths.shape[-1] != self.n_blocks:
            raise InputError(f"rows of {depths.shape[-1]} blocks, expected {self.n_blocks}")
        if np.any(neighbours):
            raise InputError("the paper's accounting counts vectors only, but neighbours are kept")
        bits = depths.astype(np.int64) * self.block_size
        whole: np.ndarray = ((bits + 7) // 8).sum(axis=-1)
        return whole

    def row_table(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(G, R) int64 bytes of every group under every row."""
        per_item = self._per_item(depths, neighbours)
        table: np.ndarray = np.asarray(self.group_sizes, np.int64)[:, None] * per_item[None, :]
        return table

    def sizes(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) int64 bytes of many compositions."""
        per_item = self._per_item(depths, neighbours)  # (B, G)
        total: np.ndarray = self.fixed_bytes + per_item @ np.asarray(self.group_sizes, np.int64)
        return total
