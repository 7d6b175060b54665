"""Codes: items as nested byte columns, of which a device takes the first ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elasticrec.compression.codebooks import BLOCK, Column, pair_sums
from elasticrec.errors import InputError
from elasticrec.files import Arrays
from elasticrec.training.table import unit

SCALES = 16_384
"""The scales of all columns that cover a block sum to at most this."""
POPULARITY_CLASSES = 28
"""Classes of items by the number of binary digits of their number plus 1."""
NEUTRAL = 128
"""The popularity factor that changes nothing."""
WHOLE_GAIN = 32_768
"""The gain of columns that tell all of a vector."""
LARGEST_UNIT = 1e9
"""No number of a stream is larger."""

_PLAIN = ("columns", "data", "gains", "popularity", "empty", "rotation")


@dataclass(frozen=True, eq=False)
class Codes(Arrays):
    """Items as byte columns, without their neighbours: V items, D = 8·N numbers, C columns."""

    codebooks: tuple[np.ndarray, ...]
    """Each (32, w) int8: 16 codewords for the low half of a byte, 16 for the high one."""
    columns: np.ndarray
    """(C, 3) int64: codebook, first block and scale of each column."""
    data: np.ndarray
    """(C, V) uint8: the byte of each item in each column."""
    n_blocks: int
    """N."""
    unit: float
    """The length of a decoded vector that counts as 1 where its gain is whole."""
    recency: float
    """An item of a history weighs 1 / (1 + recency · age)."""
    cosine: bool
    """Decoded vectors are scored by their direction alone."""
    gains: np.ndarray
    """(C,) uint16 by number of columns: mean cosine of decoded and trained vectors, in 1/32768."""
    popularity: np.ndarray
    """(28,) uint8: factor of an item's score, in 1/128, by the class of its number."""
    empty: np.ndarray
    """(D,) int8: the person of whom nothing is known."""
    rotation: np.ndarray
    """(D, D) float32 orthogonal: a table's vector x is coded as x @ rotation."""

    def __repr__(self) -> str:
        return f"Codes({self.n_items:,} items, {self.n_columns} columns)"

    @property
    def n_items(self) -> int:
        """V."""
        return int(self.data.shape[1])

    @property
    def n_columns(self) -> int:
        """C."""
        return len(self.columns)

    @property
    def dimensions(self) -> int:
        """D."""
        return self.n_blocks * BLOCK

    def width(self, column: int) -> int:
        """The numbers of a column's codewords."""
        return int(self.codebooks[int(self.columns[column, 0])].shape[1])

    def decode(self, items: np.ndarray | slice, counts: np.ndarray) -> np.ndarray:
        """(n, D) int32: the vectors y of some items, each by its first `counts` (n,) columns."""
        data, counts = self.data[:, items], np.asarray(counts)
        out = np.zeros((len(counts), self.dimensions), dtype=np.int32)
        for c in range(int(counts.max(initial=0))):
            some = slice(None) if counts.min() > c else np.flatnonzero(counts > c)
            self.add_column(out, c, data[c], some)
        return out

    def add_column(
        self, out: np.ndarray, c: int, data: np.ndarray, some: np.ndarray | slice = slice(None)
    ) -> None:
        """Add to vectors (n, D) what bytes (n,) of column c say, at some of the rows."""
        book, block, scale = self.columns[c].tolist()
        sums = pair_sums(self.codebooks[book].astype(np.int32)) * np.int32(scale)
        out[some, block * BLOCK : block * BLOCK + sums.shape[1]] += sums[data[some]]

    @property
    def cosines(self) -> np.ndarray:
        """(C + 1,) mean cosines of decoded and trained vectors of items with 0, 1, … C columns."""
        return np.append(0.0, self.gains / WHOLE_GAIN)

    def factors(self, lengths: np.ndarray, items: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(n,) int64 g: what the scores of items with decoded vectors of such lengths count.

        Args:
            items: (n,) their numbers, which say how popular they are.
            counts: (n,) their columns, which say how well their vectors are told.
        """
        popularity = self.popularity[popularity_class(items)].astype(np.float64)
        if not self.cosine:
            return popularity.astype(np.int64)
        usable = lengths > 0
        worth = np.float64(np.float32(self.unit)) * popularity * self.cosines[counts]
        raw = worth / np.where(usable, lengths, 1)
        return np.where(usable, np.minimum(255, np.floor(raw + 0.5)), 0).astype(np.int64)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        out = {f"codebook.{n:02}": book for n, book in enumerate(self.codebooks)}
        out |= {name: getattr(self, name) for name in _PLAIN}
        numbers = [self.n_blocks, self.unit, self.recency, float(self.cosine)]
        return {**out, "numbers": np.array(numbers, dtype=np.float64)}

    @classmethod
    def load(cls, path: Path | str) -> Codes:
        """The codes that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            names = sorted(name for name in stored.files if name.startswith("codebook."))
            plain = {name: stored[name] for name in _PLAIN}
            n_blocks, unit, recency, cosine = stored["numbers"].tolist()
            books = tuple(stored[name] for name in names)
        return cls(books, n_blocks=int(n_blocks), unit=unit, recency=recency,
                   cosine=bool(cosine), **plain)  # fmt: skip


def popularity_class(items: np.ndarray) -> np.ndarray:
    """(n,) the number of binary digits of each item's number plus 1."""
    return np.asarray(np.frexp(np.asarray(items, dtype=np.float64) + 1)[1])


def assemble(
    columns: list[Column],
    *,
    n_blocks: int,
    rotation: np.ndarray,
    empty: np.ndarray,
    popularity: np.ndarray | None = None,
    cosine: bool = True,
    recency: float = 0.0,
) -> Codes:
    """Codes of fitted columns, their scales as whole numbers, with whole gains and unit 1.

    Args:
        columns: in order; those that share their codewords share a codebook.
        empty: (D,) the person of whom nothing is known, of any length.
        popularity: (28,) factors by class; None changes nothing.
    """
    if not columns:
        raise InputError("no columns to code items with, expected at least one")
    books: list[np.ndarray] = []
    place: dict[int, int] = {}
    for column in columns:
        if id(column.codewords) not in place:
            place[id(column.codewords)] = len(books)
            books.append(column.codewords)
    covered = np.zeros(n_blocks)
    for column in columns:
        covered[column.block : column.block + column.codewords.shape[1] // BLOCK] += column.scale
    factor = (SCALES - len(columns)) / covered.max()  # rounding adds at most a half each
    table = [(place[id(c.codewords)], c.block, max(1, round(c.scale * factor))) for c in columns]
    factors = np.full(POPULARITY_CLASSES, 1.0) if popularity is None else popularity
    return Codes(
        tuple(books), np.array(table, dtype=np.int64), np.stack([c.bytes for c in columns]),
        n_blocks=n_blocks, unit=1.0, recency=recency, cosine=cosine,
        gains=np.full(len(columns), WHOLE_GAIN, dtype=np.uint16),
        popularity=np.clip(np.rint(factors / factors.max() * NEUTRAL), 1, 255).astype(np.uint8),
        empty=np.rint(empty / max(float(np.abs(empty).max()), 1e-12) * 127).astype(np.int8),
        rotation=rotation.astype(np.float32),
    )  # fmt: skip


def with_gains(codes: Codes, vectors: np.ndarray, *, n_items: int) -> Codes:
    """The same codes with gains that say how well their columns tell vectors.

    Args:
        vectors: (V, D) what the codes stand for, rotated as they are.
        n_items: how many items, evenly spread, are looked at.
    """
    some = np.arange(0, codes.n_items, max(1, codes.n_items // n_items))
    trained = unit(vectors[some])
    cosines = np.zeros(codes.n_columns)
    y = np.zeros(trained.shape, dtype=np.int32)
    for c in range(codes.n_columns):
        codes.add_column(y, c, codes.data[c, some])
        lengths = np.maximum(np.linalg.norm(y, axis=1), 1e-12)
        cosines[c] = float((np.einsum("nd,nd->n", y, trained) / lengths).mean())
    gains = np.clip(np.rint(np.maximum.accumulate(cosines) * WHOLE_GAIN), 1, WHOLE_GAIN)
    return replace(codes, gains=gains.astype(np.uint16))


def with_unit(codes: Codes, n_columns: int, *, n_items: int, quantile: float) -> Codes:
    """The same codes with the unit at which the largest factors just fit a byte.

    They are those of the vectors that are shortest for what their columns tell of them.

    Args:
        n_columns: columns of the smallest useful prefix.
        n_items: how many items, evenly spread, are looked at.
        quantile: the quantile of their lengths that counts as the shortest.
    """
    some = np.arange(0, codes.n_items, max(1, codes.n_items // n_items))
    y = codes.decode(some, np.full(len(some), n_columns)).astype(np.float64)
    lengths = np.sqrt(np.square(y).sum(axis=1))
    lengths = lengths[lengths > 0]
    if not len(lengths):
        return codes
    shortest = float(np.quantile(lengths, quantile)) if codes.cosine else float(lengths.mean())
    if codes.cosine:
        shortest *= 250 / NEUTRAL / codes.cosines[n_columns]
    return replace(codes, unit=float(np.float32(min(shortest, LARGEST_UNIT))))
