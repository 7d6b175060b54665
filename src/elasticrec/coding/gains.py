"""Row gains: one byte per item and row of depths, which makes groups of different depth comparable.

What a row keeps of an item is a rough copy of some blocks of its vector about the group's mean. Its
gain scales the copy:

- `norm`: the copy gets the length of the original: of what is kept of it, or of all of it where
  nothing is dropped, and else the geometric mean of the two (the one lets items of sparse rows rank
  too low, the other inflates what little is known of them);
- `product`: its product with the kept blocks of the original becomes theirs with themselves, so
  that a person whose vector points there gets the right score;
- `projection`: it comes as near to the original as it can, and is short where it is rough.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from elasticrec.data.errors import InputError

Gain = Literal["norm", "product", "projection"]
LEVELS = 256
"""Values of a gain byte."""
LARGEST = 16.0
"""No gain is larger: an item whose copy is that short is better left short."""
_WIDEST = 100.0
"""The largest gain over the smallest that is told apart: steps stay under 2 %."""


def row_gains(
    squares: np.ndarray, whole: np.ndarray, kept: np.ndarray, products: np.ndarray, kind: Gain
) -> np.ndarray:
    """Gains of the same shape as what they are made from; 1 where there is nothing to scale.

    Args:
        squares: squared lengths of the originals, in the blocks that a row keeps.
        whole: squared lengths of the originals, in all blocks.
        kept: squared lengths of the copies.
        products: products of copies and originals.
        kind: `norm`, `product` or `projection`.
    """
    if kind not in get_args(Gain):
        raise InputError(f"gains of kind {kind!r}, expected one of {', '.join(get_args(Gain))}")
    below = products if kind == "product" else kept
    above = np.maximum(products, 0) if kind == "projection" else squares
    if kind == "norm":
        above = np.sqrt(squares * whole)
    usable = below > 0
    ratio = above / np.where(usable, below, 1)
    return np.where(usable, np.sqrt(ratio) if kind == "norm" else ratio, 1.0)


def gain_bytes(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each gain as the byte of the nearest level, and the (256,) float32 levels, a geometric row.

    Levels reach from the smallest gain, or a hundredth of the largest, to the largest.
    """
    gains = np.minimum(gains, LARGEST)
    highest = float(gains.max(initial=0.0)) or 1.0
    lowest = max(float(gains.min(initial=highest)), highest / _WIDEST)
    levels = np.geomspace(lowest, highest, LEVELS)
    step = np.log(highest / lowest) / (LEVELS - 1)
    if step == 0:
        return np.zeros(gains.shape, dtype=np.uint8), levels.astype(np.float32)
    at = np.log(np.maximum(gains, lowest) / lowest) / step
    return np.rint(at).astype(np.uint8), levels.astype(np.float32)
