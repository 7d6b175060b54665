"""The format of the first release, version 3, as something to compare with.

Vectors are turned, and the mean of each of 20 popularity groups is taken off. What is left is
written plane by plane, a byte per item each: words (two of 16 + 16 codewords as long as a vector),
letters (one of 256 codewords of eight numbers), then signs (a bit for each of a block's eight
numbers, read with fitted steps). One more byte per item scales what was kept to the length that
the vector had. A row says how many planes each block has and how many neighbours an item has.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from elasticrec.compression.codebooks import fit_codewords, kmeans, nearest, pair_sums, quantized
from elasticrec.compression.compress import energy_rotation
from elasticrec.compression.config import CompressionConfig

BLOCK, PLANES, GROUPS, LETTERS, POINTS = 8, 8, 20, 256, 1 << 14
FIRST, RATIO = 1.1, 0.55
"""Step of the first sign in units of the spread, and of each further one beside the last."""
SIGNS = (2.0 * ((np.arange(256)[:, None] >> np.arange(BLOCK)) & 1) - 1).astype(np.float32)
"""(256, 8): +1 where bit j of a byte is set, else -1."""
LEFT_OVER = np.array([1.0, 0.364, 0.121, 0.0376, 0.0143, 0.0067, 0.0042, 0.0032, 0.0028])
"""Share of a number's mean square that 0 to 8 signs leave over."""
SHARPNESS, WORDS_SHARPNESS = 0.75, 0.5
"""Energies of blocks are raised to this power before planes are dealt to them."""
NEIGHBOURS = (0, 1, 2, 4, 8, 16, 32, 64)
LEAST_SHARE, MOST_SHARE, NEIGHBOUR_BYTES = 1 / 12, 2.5, 2.5
"""Bytes of neighbours beside those of planes, between which a row had a place on the menu."""
FIXED_BYTES = 64 + 32 * 8 + 64 + 512 + 4 * (36 + 256 + 16)
"""Everything but groups, means, words, letters, scales, planes, gains and neighbours."""


class Row(NamedTuple):
    """Planes and neighbours of every item."""

    depths: tuple[int, ...]
    """(N,) planes of each block."""
    neighbours: int
    """Slots of each item's list."""


@dataclass(frozen=True, eq=False)
class Format3:
    """A coded table of V items, their numbers by falling popularity."""

    means: np.ndarray
    """(G, D) float16: of each group, rotated."""
    bounds: np.ndarray
    """(G + 1,) where groups begin."""
    words: tuple[np.ndarray, ...]
    """K times (256, D) float32: what a byte of words stands for."""
    letters: np.ndarray
    """(N, 256, 8) float32: what a letter of each block stands for; zeros without words."""
    spreads: np.ndarray
    """(N,) by what signs are multiplied."""
    steps: np.ndarray
    """(8, 8): row c - 1 holds the steps of c signs."""
    planes: np.ndarray
    """(N, 8, V) uint8."""
    originals: np.ndarray
    """(V, D) float32 vectors about their means, which gains are made from."""
    energy: np.ndarray
    """(N,) how much each block moves scores."""

    @property
    def first_signs(self) -> np.ndarray:
        """(N,) the first plane of signs of each block: words and letters come before."""
        K = len(self.words)
        return np.asarray((np.arange(len(self.planes)) < K) + int(K > 0), dtype=np.int64)

    def rows(self, budget_bytes: int, slots: int) -> list[Row]:
        """For each number of neighbours worth its place, as many planes as fit the budget."""
        N, V = self.planes.shape[0], self.planes.shape[2]
        found = []
        for count in (n for n in NEIGHBOURS if n <= slots):
            left = budget_bytes - self.n_bytes(Row((0,) * N, count))
            planes = min(max(left // V - 1, 0), PLANES * N)  # a byte is the gain's
            share = NEIGHBOUR_BYTES * count / max(planes, 1)
            worth = not (count and planes) or LEAST_SHARE <= share <= MOST_SHARE
            if left >= 0 and count + planes and worth:
                found.append(Row(self.depths(planes), count))
        return found

    def depths(self, planes: int) -> tuple[int, ...]:
        """Planes dealt to blocks: words, letters by energy, then signs where they help most."""
        N, K = len(self.planes), len(self.words)
        sharp = self.energy ** (WORDS_SHARPNESS if K else SHARPNESS)
        gains = sharp[:, None] * -np.diff(LEFT_OVER)
        gains[np.arange(PLANES) >= PLANES - self.first_signs[:, None]] = -1  # no place is left
        order = np.argsort(-gains.ravel(), kind="stable")[: PLANES * N - self.first_signs.sum()]
        dealt = order // PLANES
        if K:
            dealt = np.concatenate([np.arange(K), np.argsort(-sharp, kind="stable"), dealt])
        return tuple(np.bincount(dealt[:planes], minlength=N).tolist())

    def n_bytes(self, row: Row) -> int:
        """All bytes of a file whose groups all have a row; without the alignment of its parts."""
        N, V, D = self.planes.shape[0], self.planes.shape[2], self.originals.shape[1]
        K, G, planes = len(self.words), len(self.means), sum(row.depths)
        fixed = FIXED_BYTES + G * (16 + N) + 2 * (G + 1) * D + 12 * N
        fixed += 32 * D * K + LETTERS * BLOCK * (K > 0)
        full, rest = divmod(max(1, (V - 1).bit_length()), 8)
        slot = full * V + rest * -(-V // 8) + -(-V // 2)
        return fixed + V * (planes + (planes > 0)) + slot * row.neighbours

    def vectors(self, row: Row) -> np.ndarray:
        """(V, D) float32 vectors of all items as a row keeps them, rotated."""
        out = np.repeat(self.means.astype(np.float32), np.diff(self.bounds), axis=0)
        if any(row.depths):
            copies = self._copies(row)
            out += copies * self._gains(row, copies)[:, None]
        return out

    def _copies(self, row: Row) -> np.ndarray:
        """(V, D) what a row keeps of the originals, not yet scaled."""
        out = np.zeros(self.originals.shape, dtype=np.float32)
        for k, words in enumerate(self.words):
            if row.depths[k]:
                out += words[self.planes[k, 0]]
        blocks = out.reshape(len(out), -1, BLOCK)
        for n, depth in enumerate(row.depths):
            first = int(self.first_signs[n])
            if self.words and depth >= first:
                blocks[:, n] += self.letters[n, self.planes[n, first - 1]]
            for q in range(depth - first):
                step = self.steps[depth - first - 1, q] * self.spreads[n]
                blocks[:, n] += SIGNS[self.planes[n, first + q]] * np.float32(step)
        return out

    def _gains(self, row: Row, copies: np.ndarray) -> np.ndarray:
        """(V,) float32: by what copies get back the length of the originals, in 256 levels."""
        by_block = np.square(self.originals).reshape(len(copies), -1, BLOCK).sum(axis=2)
        whole = by_block.sum(axis=1, dtype=np.float64)
        wide = any(row.depths[: len(self.words)])
        kept = by_block[:, np.array(row.depths) > 0].sum(axis=1, dtype=np.float64)
        squares = whole if wide else kept  # words say something of every block
        lengths = np.square(copies).sum(axis=1, dtype=np.float64)
        ratio = np.sqrt(squares * whole) / np.where(lengths > 0, lengths, 1)
        gains = np.minimum(np.where(lengths > 0, np.sqrt(ratio), 1.0), 16.0)
        high = float(gains.max())
        low = max(float(gains.min()), high / 100)
        step = np.log(high / low) / 255
        if step == 0:
            return gains.astype(np.float32)
        levels = np.rint(np.log(np.maximum(gains, low) / low) / step)
        return np.asarray(low * np.exp(levels * step), dtype=np.float32)


def encode(items: np.ndarray, *, seed: int = 0) -> Format3:
    """The codes of item vectors (V, D) as they are scored, the most popular item first."""
    rng = np.random.default_rng(seed)
    V, N = len(items), items.shape[1] // BLOCK
    turned = (items @ (energy_rotation(items) @ _inside_blocks(N, rng))).astype(np.float32)
    firsts = [group[0] for group in np.array_split(np.arange(V), min(GROUPS, V))]
    bounds = np.array([*firsts, V])
    means = np.stack([turned[a:b].mean(axis=0) for a, b in pairwise(bounds)]).astype(np.float16)
    rest = turned - np.repeat(means.astype(np.float32), np.diff(bounds), axis=0)
    originals, planes = rest.copy(), np.zeros((N, PLANES, V), dtype=np.uint8)
    words, letters = [], np.zeros((N, LETTERS, BLOCK), dtype=np.float32)
    for k in range(K := word_lists(V, N)):
        fitted = fit_codewords(rest[rng.permutation(V)[:POINTS]], CompressionConfig(), rng)
        codewords, scale = quantized(fitted)
        words.append(pair_sums(codewords.astype(np.float32)) * np.float32(scale))
        planes[k, 0] = nearest(rest, words[k])
        rest -= words[k][planes[k, 0]]
    first = (np.arange(N) < K) + int(K > 0)
    if K:
        letters = _letters(rest, rng)
        blocks = rest.reshape(V, N, BLOCK)
        for n in range(N):
            planes[n, first[n] - 1] = nearest(blocks[:, n], letters[n])
            blocks[:, n] -= letters[n, planes[n, first[n] - 1]]
    spreads = _spreads(rest)
    coded = (tuple(words), letters, spreads, _signs(rest, spreads, planes, first), planes)
    return Format3(means, bounds, *coded, originals, _energy(turned))


def word_lists(n_items: int, n_blocks: int) -> int:
    """K: lists of words that take no more than a byte per item; few are not worth their bytes."""
    found = min(n_blocks, n_items // (32 * BLOCK * n_blocks))
    return found if found >= min(4, n_blocks) else 0


def _blocks(vectors: np.ndarray) -> list[np.ndarray]:
    """N views (V, 8) of vectors (V, D)."""
    by_block = vectors.reshape(len(vectors), -1, BLOCK)
    return [by_block[:, n] for n in range(by_block.shape[1])]


def _spreads(vectors: np.ndarray) -> np.ndarray:
    """(N,) root mean squares of each block's numbers."""
    return np.sqrt([np.square(b, dtype=np.float64).mean() for b in _blocks(vectors)])


def _letters(rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(N, 256, 8) what letters of each block stand for: one alphabet, times a scale per block."""
    V, N = len(rest), rest.shape[1] // BLOCK
    spreads = _spreads(rest)
    scale = np.where(spreads > 0, spreads, 1).astype(np.float32)
    drawn = rng.permutation(V * N)[:POINTS]
    points = rest.reshape(V, N, BLOCK)[drawn // N, drawn % N] / scale[drawn % N, None]
    alphabet = kmeans(points, LETTERS, rng, rounds=20)
    step = float(np.abs(alphabet).max()) / 127 or 1.0
    whole = np.rint(alphabet / step).astype(np.float32) * np.float32(step)
    return np.asarray(whole * spreads[:, None, None], dtype=np.float32)


def _signs(
    rest: np.ndarray, spreads: np.ndarray, planes: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """(8, 8) steps that read signs with least squared error; the signs are written to `planes`."""
    moments, products = np.zeros((PLANES, PLANES)), np.zeros(PLANES)
    for n, block in enumerate(_blocks(rest)):
        left = block / np.float32(spreads[n] or 1)
        step, columns = np.float32(FIRST), []
        for p in range(PLANES):
            columns.append(np.where(left >= 0, np.float32(1), np.float32(-1)))
            left -= step * columns[-1]
            step *= np.float32(RATIO)
            if first[n] + p < PLANES:
                bits = np.packbits(columns[-1] > 0, axis=1, bitorder="little")
                planes[n, first[n] + p] = bits[:, 0]
        signs = np.stack(columns).reshape(PLANES, -1) * np.float32(spreads[n])
        moments += signs @ signs.T
        products += signs @ block.reshape(-1)
    steps = np.zeros((PLANES, PLANES))
    for c in range(1, PLANES + 1):
        steps[c - 1, :c] = np.linalg.lstsq(moments[:c, :c], products[:c], rcond=1e-12)[0]
    return steps


def _energy(turned: np.ndarray) -> np.ndarray:
    """(N,) mean square of what each block adds to a score of two items."""
    users, items = _blocks(turned), _blocks(turned - turned.mean(axis=0))
    pairs = zip(users, items, strict=True)
    return np.array([((u.T @ u) * (e.T @ e)).sum() / len(u) ** 2 for u, e in pairs])


def _inside_blocks(n_blocks: int, rng: np.random.Generator) -> np.ndarray:
    """(D, D) a random rotation inside each block, which makes its numbers alike."""
    out = np.zeros((n_blocks, BLOCK, n_blocks, BLOCK), dtype=np.float32)
    for n in range(n_blocks):
        Q, R = np.linalg.qr(rng.normal(size=(BLOCK, BLOCK)))
        out[n, :, n, :] = Q * np.sign(np.diag(R))
    return out.reshape(n_blocks * BLOCK, -1)
