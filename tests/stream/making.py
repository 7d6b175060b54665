"""Codes, neighbours and orders of any small shape, for tests that need many."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class MadeCodes:
    """What the writer takes from `compression.codes.Codes`."""

    codebooks: tuple
    columns: np.ndarray
    data: np.ndarray
    empty: np.ndarray
    unit: float = 300.0
    recency: float = 0.0
    cosine: bool = True
    popularity: np.ndarray = None

    def __post_init__(self):
        if self.popularity is None:
            factors = np.arange(28, dtype=np.uint8) * 3 + 60
            object.__setattr__(self, "popularity", factors)


@dataclass(frozen=True, eq=False)
class MadeNeighbours:
    """What the writer takes from `compression.neighbours.Neighbours`."""

    numbers: np.ndarray
    votes: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class MadeOrder:
    """What the writer takes from `ordering.order.Order`."""

    kind: np.ndarray
    which: np.ndarray
    first: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, steps):
        """The order of (kind, which, first, count) steps."""
        return cls(*np.array(steps, dtype=np.int64).reshape(-1, 4).T)


def stages(*described):
    """(codebook widths in blocks, (C, 3) columns) of stages (width, first blocks, scale).

    Each stage has a new codebook, shared by its columns.
    """
    columns = [
        (book, block, scale)
        for book, (_, blocks, scale) in enumerate(described)
        for block in blocks
    ]
    widths = [width for width, _, _ in described]
    return widths, np.array(columns, dtype=np.int64).reshape(-1, 3)


def random_parts(rng, n_items, n_blocks, described, n_slots, **beside):
    """Random codes, neighbours and vote weights."""
    widths, columns = stages(*described)
    books = tuple(rng.integers(-128, 128, (32, 8 * w), dtype=np.int8) for w in widths)
    data = rng.integers(0, 256, (len(columns), n_items), dtype=np.uint8)
    empty = rng.integers(-128, 128, 8 * n_blocks, dtype=np.int8)
    votes = -np.sort(-rng.integers(0, 16, (n_items, n_slots)), axis=1).astype(np.uint8)
    numbers = np.where(votes, rng.integers(0, n_items, votes.shape), 0).astype(np.uint32)
    values = np.sort(rng.integers(0, 2**16, 16)).astype(np.uint16)
    values[0] = 0
    weights = rng.uniform(0, 2, (len(columns) + 1, 2)).astype(np.float32)
    codes = MadeCodes(books, columns, data, empty, **beside)
    return codes, MadeNeighbours(numbers, votes, values), weights


def alike(n_items, n_columns, n_slots, every=1):
    """All items climb together: after so many columns comes a slot, while there are any."""
    steps, slot = [], 0
    for column in range(n_columns):
        steps.append((0, column, 0, n_items))
        if column % every == every - 1 and slot < n_slots:
            steps.append((1, slot, 0, n_items))
            slot += 1
    return steps + [(1, left, 0, n_items) for left in range(slot, n_slots)]
