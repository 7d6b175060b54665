"""Residual codebooks: codewords as long as an item's vector, each for what others left over.

Items lie in clusters, so whole codewords say more in the first few bytes than codes of single
blocks do.
"""

from __future__ import annotations

import numpy as np

from elasticrec.compression.additive import fit_codewords, pair_sums, quantized
from elasticrec.compression.columns import Column
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.kmeans import nearest


def residual_columns(
    rest: np.ndarray, n_columns: int, config: CompressionConfig, rng: np.random.Generator
) -> list[Column]:
    """Columns of whole codewords; what they leave over stays in `rest`.

    Args:
        rest: (V, D) float32 vectors, changed in place.
        n_columns: codebooks to fit, one per column.
        rng: draws the items that codewords are fitted to.
    """
    out = []
    for _ in range(n_columns):
        points = rest[rng.permutation(len(rest))[: config.points]]
        codewords, scale = quantized(fit_codewords(points, rng, rounds=config.rounds))
        sums = pair_sums(codewords.astype(np.float32)) * np.float32(scale)
        named = nearest(rest, sums)
        rest -= sums[named]
        out.append(Column(codewords, 0, scale, named.astype(np.uint8)))
    return out
