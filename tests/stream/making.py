"""Codes, neighbours and orders of any small shape, for tests that need many."""

from dataclasses import dataclass

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.stream.chunk import stored_ids
from elasticrec.stream.writer import Facts


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
    gains: np.ndarray = None

    def __post_init__(self):
        if self.gains is None:
            gains = np.linspace(9_000, 32_768, len(self.columns)).astype(np.uint16)
            object.__setattr__(self, "gains", gains)
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
    def of(cls, climbs):
        """The order of (kind, which, first, count) climbs."""
        return cls(*np.array(climbs, dtype=np.int64).reshape(-1, 4).T)


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
    climbs, slot = [], 0
    for column in range(n_columns):
        climbs.append((0, column, 0, n_items))
        if column % every == every - 1 and slot < n_slots:
            climbs.append((1, slot, 0, n_items))
            slot += 1
    return climbs + [(1, left, 0, n_items) for left in range(slot, n_slots)]


def random_order(rng, n_items, n_columns, n_slots):
    """Climbs in which ranges of items climb in any order, each by columns and slots in turn."""
    edges = np.unique(np.concatenate([[0, n_items], rng.integers(0, n_items, 3)]))
    left = {}
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        kinds = rng.permutation([0] * int(rng.integers(0, n_columns + 1)) + [1] * n_slots)
        left[first, stop] = kinds.tolist()
    climbs = []
    have = {place: [0, 0] for place in left}
    while any(left.values()):
        place = list(left)[int(rng.integers(len(left)))]
        if left[place]:
            kind = left[place].pop()
            climbs.append((kind, have[place][kind], place[0], place[1] - place[0]))
            have[place][kind] += 1
    return climbs


def random_ids(rng, kind, n_items):
    """Distinct ids of a kind, in no order; None where they are dense."""
    numbers = [int(n) for n in rng.choice(10 * n_items, n_items, replace=False)]
    if kind == "dense":
        return None
    if kind == "text":
        numbers = [f"{'é' * (n % 4)}{n}" for n in numbers]
    if kind == "u64":
        numbers = [2**64 - 1 - n for n in numbers]
    return stored_ids(Ids.of(numbers), kind)


def random_stream(rng, *, ids="dense"):
    """The parts of a small stream of any shape, its order, and the number of its least climbs."""
    V, N = int(rng.integers(1, 317)), int(rng.integers(1, 5))
    described = []
    for _ in range(int(rng.integers(0, 4))):
        width = int(rng.integers(1, N + 1))
        blocks = rng.integers(0, N - width + 1, int(rng.integers(1, 4)))
        described.append((width, blocks.tolist(), int(rng.integers(1, 1000))))
    n_slots = int(rng.integers(0 if described else 1, 4))
    parts = random_parts(rng, V, N, described, n_slots)
    climbs = random_order(rng, V, len(parts[0].columns), n_slots) or [(1, 0, 0, V)]
    if n_slots == 0 and climbs == [(1, 0, 0, V)]:
        climbs = [(0, 0, 0, V)]
    facts = Facts("ab" * 32, int(rng.integers(1, len(climbs) + 1)))
    return parts, MadeOrder.of(climbs), facts, random_ids(rng, ids, V)


def kept_files(folder):
    """Name → content of the generated files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "README.md"}
