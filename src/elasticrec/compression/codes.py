"""Codes: items as nested byte planes, of which a composition takes the first ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from elasticrec.compression.signs import BLOCK, SIGNS, step_table
from elasticrec.compression.words import HALF, LETTERS, pair_sums
from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.data.interactions import fingerprint


@dataclass(frozen=True, eq=False)
class Codes:
    """What a model's bundles are made of, neighbours aside: V items, N blocks of 8 numbers."""

    planes: np.ndarray
    """(N, 8, V) uint8: an item's byte of plane p of block n: two words, a letter or eight signs."""
    means: np.ndarray
    """(G, D) float16: the mean vector of each group, rotated."""
    person: np.ndarray
    """(D,) float16: the vector of a person about whom nothing is known, rotated."""
    scales: np.ndarray
    """(N, 3) float32 ω, ν, σ: by what each block's words, letters and signs are scaled."""
    steps: np.ndarray
    """(36,) float32: a(c, q) of c = 1 … 8 planes of signs and plane q = 0 … c - 1, times σ."""
    words: np.ndarray
    """(K, 32, D) int8: the first planes of blocks 0 … K - 1 name two of their list's words."""
    letters: np.ndarray
    """(256, 8) int8: what the next plane of every block names one of; (0, 8) where K = 0."""
    rotation: np.ndarray
    """(D, D) float32 orthogonal: a table's vector x becomes x @ rotation."""
    bounds: np.ndarray
    """(G + 1,) int64: where each group's items begin, and V."""
    rows: np.ndarray
    """(R, N) uint8: the distinct rows of depths that have gains; none keeps nothing."""
    gains: np.ndarray
    """(R, V) uint8: the gain of each item under each row, an index into `gain_values`."""
    gain_values: np.ndarray
    """(256,) float32, rising."""

    @property
    def n_items(self) -> int:
        """V."""
        return int(self.planes.shape[2])

    @property
    def n_blocks(self) -> int:
        """N."""
        return int(self.planes.shape[0])

    @property
    def dimensions(self) -> int:
        """D = 8·N."""
        return self.n_blocks * BLOCK

    @property
    def n_lists(self) -> int:
        """K: lists of words."""
        return len(self.words)

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.bounds) - 1

    def row_of(self, depths: np.ndarray) -> int:
        """The number of a row of depths (N,); one without gains is refused."""
        found = np.flatnonzero((self.rows == np.asarray(depths)).all(axis=1))
        if not len(found):
            raise InputError(
                f"depths {np.asarray(depths).tolist()} are no row of the menu that was coded, "
                f"which has {len(self.rows)}"
            )
        return int(found[0])

    def group_of(self, start: int, stop: int) -> int:
        """The group in which the items start … stop - 1 lie; a range across groups is refused."""
        group = int(np.searchsorted(self.bounds, start, side="right")) - 1
        if not 0 <= group < self.n_groups or not start <= stop <= self.bounds[group + 1]:
            raise InputError(f"items {start} to {stop - 1} do not lie in one group")
        return group

    def decode(
        self, start: int, stop: int, depths: np.ndarray, with_gain: bool = True
    ) -> np.ndarray:
        """(stop - start, D) float32 vectors of one group's items as a row of depths keeps them.

        What is not kept is that of the group's mean.

        Args:
            start, stop: the items, which lie in one group.
            depths: (N,) planes kept of each block, 0 to 8.
            with_gain: whether the items' gains apply; if so the row must be one of `rows`.
        """
        depths = np.asarray(depths)
        vectors = np.tile(
            self.means[self.group_of(start, stop)].astype(np.float32), (stop - start, 1)
        )
        if not depths.any():
            return vectors
        gain: np.ndarray | float = 1.0
        if with_gain:
            gain = self.gain_values[self.gains[self.row_of(depths), start:stop], None]
        return np.asarray(vectors + self.copies(depths, start, stop) * gain)

    def copies(self, depths: np.ndarray, start: int, stop: int) -> np.ndarray:
        """(stop - start, D) float32: what a row keeps of some items about their mean, ungained."""
        total = np.zeros((stop - start, self.dimensions), dtype=np.float32)
        for n in np.flatnonzero(depths[: self.n_lists]):
            total += self.reading(int(n))[self.planes[n, 0, start:stop]]
        by_block = total.reshape(-1, self.n_blocks, BLOCK)
        table = step_table(self.steps)
        wide = self.first_signs - len(self.letters) // LETTERS
        for n in np.flatnonzero(np.asarray(depths) > wide):
            first, planes = self.first_signs[n], self.planes[n, :, start:stop]
            if len(self.letters):
                by_block[:, n] += self.spelling(int(n))[planes[first - 1]]
            c = int(depths[n]) - first
            for q in range(c):
                by_block[:, n] += SIGNS[planes[first + q]] * (table[c - 1, q] * self.scales[n, 2])
        return total

    @property
    def first_signs(self) -> np.ndarray:
        """(N,) the first plane of signs of each block: words and letters come before."""
        spelt = int(len(self.letters) > 0)
        return np.asarray((np.arange(self.n_blocks) < self.n_lists) + spelt, dtype=np.int64)

    def spelling(self, n: int) -> np.ndarray:
        """(256, 8) float32: the numbers that a letter of block n stands for."""
        return np.asarray(self.letters.astype(np.float32) * self.scales[n, 1])

    def reading(self, k: int) -> np.ndarray:
        """(256, D) float32: the numbers that a byte of words of list k stands for."""
        return pair_sums(self.words[k]) * self.scales[k, 0]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Codes:
        """The codes that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            missing = sorted({field.name for field in fields(cls)} - set(stored.files))
            if missing:
                raise InputError(
                    f"{path} has no {', '.join(missing)}: another version of elasticrec made it; "
                    "delete it, and `elasticrec estimate` makes it anew"
                )
            return cls(**{field.name: stored[field.name] for field in fields(cls)})


def decode_item(codes: Codes, item: int, depths: np.ndarray, with_gain: bool = True) -> list[float]:
    """The D numbers of one item, read bit by bit as the bundle's page says: the slow twin."""
    group = codes.group_of(item, item + 1)
    gain = 1.0
    if with_gain and any(depths):
        gain = float(codes.gain_values[codes.gains[codes.row_of(depths), item]])
    numbers = []
    for k in range(codes.dimensions):
        total = 0.0
        for n, depth in enumerate(int(depth) for depth in depths):
            worded = depth > 0 and n < codes.n_lists
            spelled = depth > worded and len(codes.letters) > 0
            if worded:
                high, low = divmod(int(codes.planes[n, 0, item]), HALF)
                both = int(codes.words[n, low, k]) + int(codes.words[n, HALF + high, k])
                total += float(codes.scales[n, 0]) * both
            if k // BLOCK != n:
                continue
            if spelled:
                letter = codes.letters[int(codes.planes[n, int(worded), item]), k % BLOCK]
                total += float(codes.scales[n, 1]) * int(letter)
            c = depth - worded - spelled
            for q in range(c):
                step = float(codes.steps[c * (c - 1) // 2 + q]) * float(codes.scales[n, 2])
                byte = int(codes.planes[n, worded + spelled + q, item])
                total += step if byte >> k % BLOCK & 1 else -step
        numbers.append(float(codes.means[group, k]) + total * gain)
    return numbers
