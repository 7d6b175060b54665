"""Sub-vector codebook: 32 codewords of 8 numbers, shared by all blocks; a stage codes every block.

The first codewords are signs: four bits for the first four numbers of a block, four for the others.
"""

from __future__ import annotations

import numpy as np

from elasticrec.compression.additive import (
    CODEWORDS,
    HALF,
    fit_codewords,
    pair_sums,
    quantized,
)
from elasticrec.compression.columns import BLOCK, Column
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.kmeans import nearest

_FIRST_STEP = 0.8
"""Mean size of a number of unit spread: the best step of one sign."""


def subvector_columns(
    rest: np.ndarray, config: CompressionConfig, rng: np.random.Generator
) -> list[Column]:
    """One column per block, all of one codebook; what they leave over stays in `rest`.

    Args:
        rest: (V, D) float32 vectors, changed in place.
        rng: draws the blocks that codewords are fitted to.
    """
    blocks = rest.reshape(len(rest), -1, BLOCK)  # (V, N, 8), the same memory
    V, N = blocks.shape[:2]
    spread = np.sqrt(np.square(blocks).mean(axis=(0, 2)))  # (N,)
    spread = np.where(spread > 0, spread, 1).astype(np.float32)
    drawn = rng.permutation(V * N)[: config.points]
    points = blocks[drawn // N, drawn % N] / spread[drawn % N, None]
    fitted = fit_codewords(points, rng, rounds=config.rounds, start=_signs())
    codewords, scale = quantized(fitted)
    out = []
    for n in range(N):
        step = float(spread[n]) * scale
        sums = pair_sums(codewords.astype(np.float32)) * np.float32(step)
        named = nearest(blocks[:, n], sums)
        blocks[:, n] -= sums[named]
        out.append(Column(codewords, n, step, named.astype(np.uint8)))
    return out


def _signs() -> np.ndarray:
    """(32, 8) codewords that give each number its sign: bit j of a byte is number j's."""
    bits = (np.arange(HALF)[:, None] >> np.arange(BLOCK // 2)) & 1
    half = _FIRST_STEP * (2.0 * bits - 1)
    out = np.zeros((CODEWORDS, BLOCK), dtype=np.float32)
    out[:HALF, : BLOCK // 2] = half
    out[HALF:, BLOCK // 2 :] = half
    return out
