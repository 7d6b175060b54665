"""Row gains: one byte per item and row of depths, which makes groups of different depth comparable.

What a row keeps of an item is a rough copy of its vector about the group's mean. Its gain scales
the copy: to the length of the original (`norm`), or to where it is nearest to the original
(`projection`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Gain = Literal["norm", "projection"]
LEVELS = 256
"""Values of a gain byte."""
_WIDEST = 100.0
"""The largest gain over the smallest that is told apart: steps stay under 2 %."""


def row_gains(
    squares: np.ndarray, kept: np.ndarray, products: np.ndarray, kind: Gain
) -> np.ndarray:
    """(R, V) float64 gains; 1 where a row keeps nothing of an item that could be scaled.

    Args:
        squares: (V,) squared lengths of the originals.
        kept: (R, V) squared lengths of the copies.
        products: (R, V) products of copies and originals.
        kind: `norm` or `projection`.
    """
    usable = kept > 0
    below = np.where(usable, kept, 1)
    ratio = np.sqrt(squares / below) if kind == "norm" else np.maximum(products, 0) / below
    return np.where(usable, ratio, 1.0)


def gain_bytes(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each gain as the byte of the nearest level, and the (256,) float32 levels, a geometric row.

    Levels reach from the smallest gain, or a hundredth of the largest, to the largest.
    """
    highest = float(gains.max(initial=0.0)) or 1.0
    lowest = max(float(gains.min(initial=highest)), highest / _WIDEST)
    levels = np.geomspace(lowest, highest, LEVELS)
    step = np.log(highest / lowest) / (LEVELS - 1)
    if step == 0:
        return np.zeros(gains.shape, dtype=np.uint8), levels.astype(np.float32)
    at = np.log(np.maximum(gains, lowest) / lowest) / step
    return np.rint(at).astype(np.uint8), levels.astype(np.float32)
