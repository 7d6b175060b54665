"""Codebooks: the columns of items, whose bytes each name two of a codebook's 32 codewords.

A byte names one of the first 16 codewords and one of the others. Both halves are fitted together by
k-means and then least squares. A device looks a half up by four bits, so that its tables fit into
vector registers. There are two kinds of codebook:

- residual codebooks, as long as an item's vector, each for what the ones before left over. Items
  lie in clusters, so whole codewords say more in the first few bytes than codes of single blocks.
- the sub-vector codebook of a stage, of 8 numbers, shared by all blocks. Its first codewords are
  signs: four bits for the first four numbers of a block, four for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.compression.config import CompressionConfig
from elasticrec.engine import map_shards

BLOCK = 8
"""d: numbers per block."""
HALF = 16
"""Codewords that four bits name one of."""
CODEWORDS = 2 * HALF
"""Codewords of a codebook."""
LARGEST = 127
"""Codewords are whole numbers from -127 to 127."""
_POINTS_AT_ONCE = 1 << 13
_POINTS_OF_A_SHARD = 1 << 16


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

    def values(self) -> np.ndarray:
        """(256, w) float32: what each byte says."""
        return pair_sums(self.codewords.astype(np.float32)) * np.float32(self.scale)


def kmeans(points: np.ndarray, n: int, rng: np.random.Generator, *, rounds: int) -> np.ndarray:
    """(n, d) centres among points (m, d), from points drawn at random.

    A centre that no point is next to moves to a point drawn anew.
    """
    centres = points[rng.permutation(len(points))[np.arange(n) % len(points)]]
    for _ in range(rounds):
        near = nearest(points, centres)
        counts = np.bincount(near, minlength=n)[:, None]
        sums = np.stack([np.bincount(near, column, minlength=n) for column in points.T], axis=1)
        spare = points[rng.integers(len(points), size=n)]
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), spare).astype(np.float32)
    return centres


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(m,) the centre (n, d) next to each point (m, d), the first of equal ones."""
    half = np.einsum("nd,nd->n", centres, centres) / 2
    out = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _POINTS_AT_ONCE):
        part = slice(start, start + _POINTS_AT_ONCE)
        out[part] = (half - points[part] @ centres.T).argmin(axis=1)
    return out


def _encoded(points: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """(V,) uint8: the byte whose sum of codewords (256, w) is next to each of all points."""
    starts = range(0, len(points), _POINTS_OF_A_SHARD)
    return np.concatenate([*map_shards(_bytes, starts, (points, sums), threads=True)])


def _bytes(shared: tuple[np.ndarray, np.ndarray], start: int) -> np.ndarray:
    points, sums = shared
    return nearest(points[start : start + _POINTS_OF_A_SHARD], sums).astype(np.uint8)


def fit_codewords(
    points: np.ndarray,
    config: CompressionConfig,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """(32, w) float32 codewords whose sums of two come near to points (n, w); k-means starts."""
    if start is None:
        first = kmeans(points, HALF, rng, rounds=config.kmeans_rounds)
        rest = points - first[nearest(points, first)]
        start = np.concatenate([first, kmeans(rest, HALF, rng, rounds=config.kmeans_rounds)])
    codewords = start
    for _ in range(config.rounds):
        near = nearest(points, pair_sums(codewords))
        named = np.zeros((len(points), CODEWORDS), dtype=np.float32)
        named[np.arange(len(points)), near % HALF] = 1
        named[np.arange(len(points)), HALF + near // HALF] = 1
        counts = named.T @ named + config.codeword_ridge * np.eye(CODEWORDS, dtype=np.float32)
        right = named.T @ points + config.codeword_ridge * codewords
        codewords = np.linalg.solve(counts, right).astype(np.float32)
    return codewords


def quantized(codewords: np.ndarray) -> tuple[np.ndarray, float]:
    """(32, w) int8 codewords and the number by which they are multiplied."""
    scale = float(np.abs(codewords).max(initial=0)) / LARGEST or 1.0
    return np.rint(codewords / scale).astype(np.int8), scale


def pair_sums(codewords: np.ndarray) -> np.ndarray:
    """(256, w): the sum of the two codewords (32, w) that each byte names."""
    return np.asarray((codewords[:HALF] + codewords[HALF:, None]).reshape(HALF * HALF, -1))


def coded(rest: np.ndarray, codewords: np.ndarray, scale: float, block: int = 0) -> Column:
    """The column of given codewords (32, w); what it leaves over stays in `rest` (V, w)."""
    sums = pair_sums(codewords.astype(np.float32)) * np.float32(scale)
    named = _encoded(rest, sums)
    rest -= sums[named]
    return Column(codewords, block, scale, named)


def residual_columns(
    rest: np.ndarray, n_columns: int, config: CompressionConfig, rng: np.random.Generator
) -> list[Column]:
    """Columns of whole codewords, one per codebook; what they leave over stays in `rest` (V, D)."""
    out = []
    for _ in range(n_columns):
        points = rest[rng.permutation(len(rest))[: config.points]]
        out.append(coded(rest, *quantized(fit_codewords(points, config, rng))))
    return out


def subvector_columns(
    rest: np.ndarray, config: CompressionConfig, rng: np.random.Generator
) -> list[Column]:
    """A column per block, all of one codebook; what they leave over stays in `rest` (V, D)."""
    blocks = rest.reshape(len(rest), -1, BLOCK)  # (V, N, 8), the same memory
    V, N = blocks.shape[:2]
    spread = np.sqrt(np.square(blocks).mean(axis=(0, 2)))  # (N,)
    spread = np.where(spread > 0, spread, 1).astype(np.float32)
    drawn = rng.permutation(V * N)[: config.points]
    points = blocks[drawn // N, drawn % N] / spread[drawn % N, None]
    fitted = fit_codewords(points, config, rng, start=_signs(config.first_sign))
    codewords, scale = quantized(fitted)
    return [coded(blocks[:, n], codewords, float(spread[n]) * scale, n) for n in range(N)]


def _signs(size: float) -> np.ndarray:
    """(32, 8) codewords that give each number its sign times a size; bit j is number j's."""
    bits = (np.arange(HALF)[:, None] >> np.arange(BLOCK // 2)) & 1
    half = size * (2.0 * bits - 1)
    out = np.zeros((CODEWORDS, BLOCK), dtype=np.float32)
    out[:HALF, : BLOCK // 2] = half
    out[HALF:, BLOCK // 2 :] = half
    return out
