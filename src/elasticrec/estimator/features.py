"""A composition as 0/1 features (Eq. 4): one row of bits per group, thermometer codes for depths.

The paper's multi-hot(B_g) is the case of two depths: one bit per block, "is it kept". With more
depths, each block has one bit per level above the lowest: "is it kept at least this deep". The
one-hot(g) is not spelled out: it picks a row of weights, so the models hold one row per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elasticrec.data.errors import InputError


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

    def __post_init__(self) -> None:
        for name in ("depths", "neighbours"):
            levels = getattr(self, name)
            if not levels or list(levels) != sorted(set(levels)) or not 0 <= levels[0]:
                raise InputError(f"{name} {levels} must be distinct, ascending and not negative")

    @classmethod
    def of(cls, depths: np.ndarray, neighbours: np.ndarray) -> Features:
        """Features for all depths and counts found in compositions (B, G, N) and (B, G)."""
        return cls(
            depths.shape[1],
            depths.shape[2],
            tuple(np.unique(depths).tolist()),
            tuple(np.unique(neighbours).tolist()),
        )

    @property
    def width(self) -> int:
        """F: bits per group."""
        return self.n_blocks * (len(self.depths) - 1) + len(self.neighbours) - 1

    @cached_property
    def _depth_bits(self) -> np.ndarray:
        return _thermometer(self.depths)

    @cached_property
    def _neighbour_bits(self) -> np.ndarray:
        return _thermometer(self.neighbours)

    def encode(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B, G, F) float32 bits of compositions (B, G, N) and (B, G); NaN for unknown levels."""
        width = self.n_blocks * (len(self.depths) - 1)
        bits = self._depth_bits[depths].reshape(len(depths), self.n_groups, width)
        if len(self.neighbours) > 1:
            return np.concatenate([bits, self._neighbour_bits[neighbours]], axis=2)
        if np.any(neighbours != self.neighbours[0]):
            return np.full_like(bits, np.nan)
        return bits


def _thermometer(levels: tuple[int, ...]) -> np.ndarray:
    """(256, L - 1) float32: for each number, which levels above the lowest it reaches."""
    bits = np.full((256, len(levels) - 1), np.nan, dtype=np.float32)
    for level in levels:
        bits[level] = np.array(levels[1:]) <= level
    return bits
