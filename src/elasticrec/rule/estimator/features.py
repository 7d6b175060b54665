"""A composition as 0/1 features (Eq. 4): one row of bits per group, thermometer codes for depths.

The paper's multi-hot(B_g) is the case of two depths: one bit per block, "is it kept". With more
depths, each block has one bit per level above the lowest: "is it kept at least this deep", and so
has the neighbour count. Rows of a menu use few of these bits' combinations: bits that always agree
are told once, and products say which depth goes with which count, as what neighbours add depends
on the codes beside them. The one-hot(g) is not spelled out: it picks a row of weights, so the
models hold one row per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elasticrec.errors import InputError


@dataclass(frozen=True)
class Features:
    """Which compositions are described, and by which bits."""

    n_groups: int
    """G."""
    n_blocks: int
    """N."""
    depths: tuple[int, ...] = (0, 32)
    """Depths that blocks may have, ascending."""
    neighbours: tuple[int, ...] = (0,)
    """Neighbour counts that groups may have, ascending."""
    told: tuple[tuple[int, int], ...] | None = None
    """(block, depth) of the bits that are told: "at least this deep"; None tells all."""
    crossed: tuple[tuple[int, int], ...] = ()
    """(place in `told`, count): bits "at least this deep, and at least so many neighbours"."""

    def __post_init__(self) -> None:
        for name in ("depths", "neighbours"):
            levels = getattr(self, name)
            if not levels or list(levels) != sorted(set(levels)) or not 0 <= levels[0]:
                raise InputError(f"{name} {levels} must be distinct, ascending and not negative")

    @classmethod
    def of(cls, depths: np.ndarray, neighbours: np.ndarray) -> Features:
        """Features for all depths and counts found in compositions (B, G, N) and (B, G)."""
        found = cls(
            depths.shape[1],
            depths.shape[2],
            tuple(np.unique(depths).tolist()),
            tuple(np.unique(neighbours).tolist()),
        )
        if len(found.neighbours) == 1:
            return found
        rows = np.concatenate([depths, neighbours[:, :, None]], axis=2).reshape(-1, found.width_in)
        return found._told_once(np.unique(rows, axis=0))

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Features:
        """The features that `dataclasses.asdict` turned into plain lists."""
        told = stored.get("told")
        return cls(
            stored["n_groups"],
            stored["n_blocks"],
            tuple(stored["depths"]),
            tuple(stored["neighbours"]),
            None if told is None else tuple((n, depth) for n, depth in told),
            tuple((place, count) for place, count in stored.get("crossed", ())),
        )

    def _told_once(self, rows: np.ndarray) -> Features:
        """The same with bits that differ on some row (R, N + 1), each pattern once, and products.

        A product is kept where no bit before it says the same.
        """
        depths, counts = rows[:, :-1], rows[:, -1]
        seen: set[bytes] = {np.zeros(len(rows), bool).tobytes(), np.ones(len(rows), bool).tobytes()}

        def is_new(bits: np.ndarray) -> bool:
            known = bits.tobytes() in seen
            seen.add(bits.tobytes())
            return not known

        told = tuple(
            (n, depth)
            for n in range(self.n_blocks)
            for depth in self.depths[1:]
            if is_new(depths[:, n] >= depth)
        )
        seen |= {(counts >= count).tobytes() for count in self.neighbours[1:]}
        crossed = tuple(
            (place, count)
            for place, (n, depth) in enumerate(told)
            for count in self.neighbours[1:]
            if is_new((depths[:, n] >= depth) & (counts >= count))
        )
        return Features(self.n_groups, self.n_blocks, self.depths, self.neighbours, told, crossed)

    @property
    def width_in(self) -> int:
        """Numbers that describe a row: N depths and a neighbour count."""
        return self.n_blocks + 1

    @property
    def width(self) -> int:
        """F: bits per group."""
        return len(self._bits[0]) + len(self.neighbours) - 1 + len(self.crossed)

    @cached_property
    def _bits(self) -> tuple[np.ndarray, np.ndarray]:
        """The block and the depth of every told bit."""
        every = [(n, depth) for n in range(self.n_blocks) for depth in self.depths[1:]]
        blocks, levels = (
            np.array(every if self.told is None else self.told, dtype=np.int64).reshape(-1, 2).T
        )
        return blocks, levels.astype(np.uint8)

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """The place among told bits and among counts of every product's factors."""
        counts = {count: place for place, count in enumerate(self.neighbours[1:])}
        pairs = [(place, counts[count]) for place, count in self.crossed]
        first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @cached_property
    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """(256,) bool each: depths and counts that these features describe."""
        numbers = np.arange(256)
        return np.isin(numbers, self.depths), np.isin(numbers, self.neighbours)

    def encode(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B, G, F) float32 bits of compositions (B, G, N) and (B, G); NaN for unknown levels."""
        blocks, levels = self._bits
        deep = depths[:, :, blocks] >= levels  # (B, G, told)
        many = neighbours[:, :, None] >= np.array(self.neighbours[1:], dtype=np.uint8)
        parts = [deep, many]
        if self.crossed:
            first, second = self._products
            parts.append(deep[:, :, first] & many[:, :, second])
        bits = np.concatenate(parts, axis=2).astype(np.float32)
        known_depths, known_counts = self._known
        known = known_depths[depths].all(axis=(1, 2)) & known_counts[neighbours].all(axis=1)
        if not known.all():
            bits[~known] = np.nan
        return bits
