"""Codes: items as nested byte planes, of which a composition takes the first ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from elasticrec.coding.signs import BLOCK, SIGNS, step_table
from elasticrec.data.errors import InputError
from elasticrec.data.files import written_whole
from elasticrec.data.interactions import fingerprint


@dataclass(frozen=True, eq=False)
class Codes:
    """What a model's bundles are made of, neighbours aside: V items, N blocks of 8 numbers."""

    planes: np.ndarray
    """(N, 8, V) uint8: an item's byte of plane p of block n, a word or eight signs."""
    means: np.ndarray
    """(G, D) float16: the mean vector of each group, rotated."""
    person: np.ndarray
    """(D,) float16: the vector of a person about whom nothing is known, rotated."""
    scales: np.ndarray
    """(N, 2) float32 ω and σ: by what each block's first plane and its others are scaled."""
    steps: np.ndarray
    """(36,) float32: a(b, p) of depth b = 1 … 8 and plane p = 0 … b - 1, in units of the scale."""
    words: np.ndarray
    """(K, 256, 8) int8: how the first plane is read; with K = 0 it holds signs as others do."""
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

        A dropped block is the group's mean.

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
        gain = None
        if with_gain:
            gain = self.gain_values[self.gains[self.row_of(depths), start:stop], None]
        by_block = vectors.reshape(-1, self.n_blocks, BLOCK)
        for n in np.flatnonzero(depths):
            kept = self.copies(int(n), int(depths[n]), start, stop)
            by_block[:, n] += kept if gain is None else kept * gain
        return vectors

    def copies(self, block: int, depth: int, start: int, stop: int) -> np.ndarray:
        """(stop - start, 8) float32: what one block of some items is about its mean, ungained."""
        steps = step_table(self.steps)[depth - 1, :depth]
        steps[0] *= self.scales[block, 0]
        steps[1:] *= self.scales[block, 1]
        total = self.reading(block)[self.planes[block, 0, start:stop]] * steps[0]
        for p in range(1, depth):
            total += SIGNS[self.planes[block, p, start:stop]] * steps[p]
        return np.asarray(total)

    def reading(self, block: int) -> np.ndarray:
        """(256, 8) float32: the eight numbers that a byte of a block's first plane stands for."""
        if not self.n_lists:
            return SIGNS
        return np.asarray(self.words[min(block, self.n_lists - 1)], dtype=np.float32)

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
            missing = {field.name for field in fields(cls)} - set(stored.files)
            if missing:
                raise InputError(
                    f"{path} has no {', '.join(sorted(missing))}: another version of elasticrec "
                    "made it; delete it, and `elasticrec estimate` makes it anew"
                )
            return cls(**{field.name: stored[field.name] for field in fields(cls)})


def decode_item(codes: Codes, item: int, depths: np.ndarray, with_gain: bool = True) -> list[float]:
    """The D numbers of one item, read bit by bit as the bundle's page says: the slow twin."""
    group = codes.group_of(item, item + 1)
    gain = 1.0
    if with_gain and any(depths):
        gain = float(codes.gain_values[codes.gains[codes.row_of(depths), item]])
    numbers = []
    for n, depth in enumerate(int(depth) for depth in depths):
        first = depth * (depth - 1) // 2  # where the steps of this depth begin
        for j in range(BLOCK):
            total = 0.0
            for p in range(depth):
                byte = int(codes.planes[n, p, item])
                step = float(codes.steps[first + p]) * float(codes.scales[n, min(p, 1)])
                if p == 0 and codes.n_lists:
                    total += step * float(codes.words[min(n, codes.n_lists - 1), byte, j])
                else:
                    total += step if byte >> j & 1 else -step
            mean = float(codes.means[group, BLOCK * n + j])
            numbers.append(mean + total * gain)
    return numbers
