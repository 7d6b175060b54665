"""Column: one byte per item, and the codebook that says what the bytes mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCK = 8
"""d: numbers per block."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column as it is fitted, before scales become whole numbers."""

    codewords: np.ndarray
    """(32, w) int8."""
    block: int
    """The first block that it covers."""
    scale: float
    """Factor of the codewords."""
    bytes: np.ndarray
    """(V,) uint8: two codewords per item."""
