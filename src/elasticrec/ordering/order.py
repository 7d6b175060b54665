"""Order: the one sequence in which items climb; each prefix of it is a composition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.errors import InputError
from elasticrec.files import fingerprint, written_whole
from elasticrec.space import Composition

COLUMN, SLOT = 0, 1
"""Kinds of step: a range of items gets its next column, or its next neighbour slot."""
_HEAD = 276
"""Bytes of a stream's head beside the vector of an empty history."""
_CHUNK = 32
"""Bytes of a chunk beside its payload."""
_COLUMN = 16
"""Bytes that open a column."""


@dataclass(frozen=True, eq=False)
class Order:
    """Steps over V items; a range that gets column c has columns 0 … c - 1 already."""

    n_items: int
    """V."""
    kind: np.ndarray
    """(n,) uint8: `COLUMN` or `SLOT`."""
    which: np.ndarray
    """(n,) int64: the column or slot."""
    first: np.ndarray
    """(n,) int64: the first item of the range."""
    count: np.ndarray
    """(n,) int64: how many items."""
    least: int
    """Steps of the smallest useful prefix."""

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def of_steps(cls, n_items: int, steps: list[tuple[int, int, int, int]], least: int) -> Order:
        """The order of steps (kind, which, first, count); empty ranges are left out."""
        kept = np.array([s for s in steps if s[3] > 0], dtype=np.int64).reshape(-1, 4)
        empty = sum(1 for s in steps[:least] if s[3] <= 0)
        kind, which, first, count = kept.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least - empty)

    @classmethod
    def of_composition(cls, composition: Composition) -> Order:
        """An order whose whole is one composition: its columns, then its slots."""
        steps: list[tuple[int, int, int, int]] = []
        for kind, have in ((COLUMN, composition.columns), (SLOT, composition.slots)):
            for n in range(int(have.max(initial=0))):
                edges = np.flatnonzero(np.diff(np.concatenate(([0], have > n, [0]))))
                ranges = edges.reshape(-1, 2).tolist()
                steps += [(kind, n, start, stop - start) for start, stop in ranges]
        return cls.of_steps(composition.n_items, steps, len(steps))

    def composition(self, n_steps: int | None = None) -> Composition:
        """The composition after some steps; after all of them by default."""
        have = np.zeros((2, self.n_items), dtype=np.int64)
        steps = zip(self.kind, self.which, self.first, self.count, strict=True)
        for kind, which, first, count in [*steps][:n_steps]:
            part = have[kind, first : first + count]
            if len(part) != count or (part != which).any():
                raise InputError(
                    f"a step gives {('column', 'slot')[kind]} {which} to items from {first} on, "
                    f"which have {np.unique(part).tolist()}"
                )
            part += 1
        return Composition(have[COLUMN], have[SLOT])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        steps = np.column_stack([self.kind, self.which, self.first, self.count]).astype(np.int64)
        return {"steps": steps, "shape": np.array([self.n_items, self.least], dtype=np.int64)}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez_compressed(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Order:
        """The order that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            steps, (n_items, least) = stored["steps"], stored["shape"].tolist()
        kind, which, first, count = steps.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least)


def step_bytes(order: Order, codes: Codes) -> np.ndarray:
    """(n,) bytes of each step, with the codebooks and columns that it is the first to need.

    Chunks that a writer cuts a step into are counted as one: the difference is below 2 %.
    """
    bits = max(1, (order.n_items - 1).bit_length())
    column = order.kind == COLUMN
    out = np.where(column, order.count, np.ceil(order.count * (bits + 4) / 8)).astype(np.int64)
    out += _CHUNK
    seen: set[int] = set()
    books: set[int] = set()
    for at in np.flatnonzero(column).tolist():
        c = int(order.which[at])
        if c in seen:
            continue
        seen.add(c)
        out[at] += _COLUMN
        book = int(codes.columns[c, 0])
        if book not in books:
            books.add(book)
            out[at] += codes.codebooks[book].size + 2 * _CHUNK
    return out


def cut(order: Order, codes: Codes, n_bytes: float) -> Composition:
    """The composition of about so many bytes: whole steps, and the first items of the next."""
    sizes = step_bytes(order, codes)
    ends = np.cumsum(sizes) + _HEAD + codes.dimensions
    steps = max(order.least, int(np.searchsorted(ends, n_bytes, side="right")))
    found = order.composition(steps)
    if steps >= len(order) or n_bytes <= ends[steps - 1]:
        return found
    share = (n_bytes - ends[steps - 1]) / sizes[steps]
    first, count = int(order.first[steps]), int(order.count[steps] * share)
    columns, slots = found.columns.copy(), found.slots.copy()
    part = columns if order.kind[steps] == COLUMN else slots
    part[first : first + count] += 1
    return Composition(columns, slots)


def whole_bytes(order: Order, codes: Codes) -> int:
    """Bytes of the whole stream, about."""
    return int(step_bytes(order, codes).sum()) + _HEAD + codes.dimensions
