"""Order: the one sequence in which items climb; each prefix of it is a composition.

A climb gives a range of items one more level: a column or a neighbour slot. Two orders are simple:
`all alike` climbs level by level; `popular first` lets each group of items climb some levels ahead
of those that are half as popular by rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.errors import InputError
from elasticrec.files import Arrays
from elasticrec.settings import Count, Range, Settings
from elasticrec.space import Composition

Spacing = Annotated[float, Range(0.001, 1000)]
COLUMN, SLOT = 0, 1
"""Kinds of climb: a range of items gets its next column, or its next neighbour slot."""
Level = tuple[int, int]
"""(kind, which): one more column, or one more slot."""
_HEAD = 276
"""Bytes of a stream's head beside the vector of an empty history."""
_CHUNK = 32
"""Bytes of a chunk beside its payload."""
_COLUMN = 16
"""Bytes that open a column."""


@dataclass(frozen=True, eq=False)
class Order(Arrays):
    """Climbs over V items; a range that gets column c has columns 0 … c - 1 already."""

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
    """Climbs of the smallest useful prefix."""

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def of_climbs(cls, n_items: int, climbs: list[tuple[int, int, int, int]], least: int) -> Order:
        """The order of climbs (kind, which, first, count); empty ranges are left out."""
        kept = np.array([s for s in climbs if s[3] > 0], dtype=np.int64).reshape(-1, 4)
        empty = sum(1 for s in climbs[:least] if s[3] <= 0)
        kind, which, first, count = kept.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least - empty)

    @classmethod
    def of_composition(cls, composition: Composition) -> Order:
        """An order whose whole is one composition: its columns, then its slots."""
        climbs: list[tuple[int, int, int, int]] = []
        for kind, have in ((COLUMN, composition.columns), (SLOT, composition.slots)):
            for n in range(int(have.max(initial=0))):
                edges = np.flatnonzero(np.diff(np.concatenate(([0], have > n, [0]))))
                ranges = edges.reshape(-1, 2).tolist()
                climbs += [(kind, n, start, stop - start) for start, stop in ranges]
        return cls.of_climbs(composition.n_items, climbs, len(climbs))

    def composition(self, n_climbs: int | None = None) -> Composition:
        """The composition after some climbs; after all of them by default."""
        have = np.zeros((2, self.n_items), dtype=np.int64)
        climbs = zip(self.kind, self.which, self.first, self.count, strict=True)
        for kind, which, first, count in [*climbs][:n_climbs]:
            part = have[kind, first : first + count]
            if len(part) != count or (part != which).any():
                raise InputError(
                    f"a climb gives {('column', 'slot')[kind]} {which} to items from {first} on, "
                    f"which have {np.unique(part).tolist()}"
                )
            part += 1
        return Composition(have[COLUMN], have[SLOT])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        climbs = np.column_stack([self.kind, self.which, self.first, self.count]).astype(np.int64)
        return {"climbs": climbs, "shape": np.array([self.n_items, self.least], dtype=np.int64)}

    @classmethod
    def load(cls, path: Path | str) -> Order:
        """The order that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            climbs, (n_items, least) = stored["climbs"], stored["shape"].tolist()
        kind, which, first, count = climbs.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least)


def climb_bytes(order: Order, codes: Codes) -> np.ndarray:
    """(n,) bytes of each climb, with the codebooks and columns that it is the first to need.

    Chunks that a writer cuts a climb into are counted as one: the difference is below 2 %.
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


def prefix_bytes(order: Order, codes: Codes) -> np.ndarray:
    """(n,) about how many bytes a stream has at the end of each climb."""
    return np.cumsum(climb_bytes(order, codes)) + _HEAD + codes.dimensions


def cut(order: Order, codes: Codes, n_bytes: float) -> Composition:
    """The composition of about so many bytes: whole climbs, and the first items of the next."""
    ends = prefix_bytes(order, codes)
    climbs = max(order.least, int(np.searchsorted(ends, n_bytes, side="right")))
    found = order.composition(climbs)
    if climbs >= len(order) or n_bytes <= ends[climbs - 1]:
        return found
    share = (n_bytes - ends[climbs - 1]) / (ends[climbs] - ends[climbs - 1])
    first, count = int(order.first[climbs]), int(order.count[climbs] * share)
    columns, slots = found.columns.copy(), found.slots.copy()
    part = columns if order.kind[climbs] == COLUMN else slots
    part[first : first + count] += 1
    return Composition(columns, slots)


@dataclass(frozen=True, repr=False)
class OrderConfig(Settings):
    """The few degrees of freedom of an order."""

    columns_per_slot: Spacing = 8.0
    """A neighbour comes with every so many columns; fewer suit data where lists say much."""
    lead: Annotated[int, Range(0, 1000)] = 2
    """Levels by which a group is ahead of the next less popular one; 0 is `all alike`."""
    groups: Annotated[int, Range(1, 64)] = 6
    """Groups, at most: the less popular half of all items, half of the others, and so on."""
    group_items: Count = 2048
    """Items of the most popular group, at least; small catalogues have fewer groups."""

    @property
    def name(self) -> str:
        """`all alike` or `popular first`, with its settings."""
        kind = f"popular first by {self.lead}" if self.lead else "all alike"
        return f"{kind}, {self.columns_per_slot:g} columns per neighbour"


def all_levels(n_columns: int, n_slots: int, columns_per_slot: float) -> list[Level]:
    """Every level from the bottom: columns in order, a slot after every so many of them."""
    out: list[Level] = []
    slots = 0
    for column in range(n_columns):
        out.append((COLUMN, column))
        while slots < n_slots and (slots + 1) * columns_per_slot <= column + 1:
            out.append((SLOT, slots))
            slots += 1
    return [*out, *((SLOT, slot) for slot in range(slots, n_slots))]


def make_order(
    n_items: int, n_columns: int, n_slots: int, config: OrderConfig, *, least: int = 2
) -> Order:
    """The order of a catalogue whose items are numbered by falling popularity."""
    levels = all_levels(n_columns, n_slots, config.columns_per_slot)
    least = min(least, n_columns)
    first = [(COLUMN, c) for c in range(least)]
    levels = [*first, *(level for level in levels if level not in first)]
    edges = group_edges(n_items, config)
    G = len(edges) - 1
    climbs = [(*level, 0, n_items) for level in levels[:least]]
    # Group g climbs level n in turn n - lead · (groups that are less popular), if there is one.
    turns = sorted(
        (max(least, n - config.lead * (G - 1 - g)), n, g)
        for n in range(least, len(levels))
        for g in range(G)
    )
    climbs += [(*levels[n], edges[g], edges[g + 1] - edges[g]) for _, n, g in turns]
    return Order.of_climbs(n_items, climbs, least)


def group_edges(n_items: int, config: OrderConfig) -> list[int]:
    """Where groups begin and end: the items, halved again and again; one group if all are alike."""
    edges = [n_items]
    while config.lead and len(edges) < config.groups and edges[0] // 2 >= config.group_items:
        edges.insert(0, edges[0] // 2)
    return [0, *edges]
