"""Levels: each group climbs the levels of the stream's order. Our search space.

A level is a number of columns and of neighbour slots that every item of a group has; each contains
the one below. Groups are ranges of items, which are numbered by falling popularity, so that a
composition is a stream, and `sizes` counts exactly the bytes that `stream.writer` writes.
"""

from __future__ import annotations

import numpy as np

from elasticrec.compression.codebooks import CODEWORDS
from elasticrec.compression.codes import Codes
from elasticrec.errors import InputError
from elasticrec.ordering.order import COLUMN, Order
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.search_space import Space, even_sizes
from elasticrec.space import Budget, Composition
from elasticrec.stream.chunk import CHUNK_HEADER
from elasticrec.stream.cutting import COLUMN_ENTRY, neighbour_bytes
from elasticrec.stream.format import FREE_CHUNKS, head_bytes

NEVER = 2**50
"""The size of a composition of more chunks than a stream may have."""


def climbed(order: Order, n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """(R,) columns and (R,) slots of at most so many levels, thinned evenly by growth.

    They are what the first item of an order has after each of its climbs; the lowest is what it has
    in the smallest useful prefix.
    """
    mine = np.flatnonzero(order.first == 0)
    columns = np.cumsum(order.kind[mine] == COLUMN)
    slots = np.cumsum(order.kind[mine] != COLUMN)
    lowest = max(int(np.count_nonzero(mine < order.least)) - 1, 0)
    columns, slots = columns[lowest:], slots[lowest:]
    growth = np.log1p(columns + slots)
    wanted = np.linspace(growth[0], growth[-1], n_levels)
    kept = np.unique(np.abs(growth[:, None] - wanted).argmin(axis=0))
    return columns[kept], slots[kept]


class Levels(Space):
    """Candidates are the level of each group (G,), from 1; group g is a range of items."""

    def __init__(self, codes: Codes, order: Order, config: SpaceConfig) -> None:
        self.config, self.n_items = config, codes.n_items
        self.columns, self.slots = climbed(order, config.n_levels)
        self.group_sizes = _sizes_of_eights(codes.n_items, config.n_groups)
        self.n_groups, self.most, self.top_up = config.n_groups, len(self.columns), config.top_up
        self.slot_bytes = np.array([neighbour_bytes(n, self.n_items) for n in self.group_sizes])
        self.shared, self.shared_chunks = _shared(codes)

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """(B,) bytes: the head, codebooks and columns in use, and every group's payload.

        Groups side by side that get the same column share a chunk, so a column has one chunk for
        each group that has it while the group before has not.
        """
        columns, slots = self.columns[counts - 1], self.slots[counts - 1]  # (B, G)
        payload = columns @ self.group_sizes + slots @ self.slot_bytes
        runs = _rises(columns) + _rises(slots)
        deepest = columns.max(axis=1)
        total = self.shared[deepest] + payload + CHUNK_HEADER * runs
        return np.where(runs + self.shared_chunks[deepest] > FREE_CHUNKS, NEVER, total)

    def draw_first(self, budget: Budget, rng: np.random.Generator) -> np.ndarray:
        """(G,) levels around the one that suits all groups, in some of the draws falling."""
        alike = np.repeat(np.arange(1, self.most + 1)[:, None], self.n_groups, axis=1)
        fitting = np.count_nonzero(self.sizes(alike) <= budget.n_bytes)
        drawn = fitting * np.exp(rng.normal(0.0, self.config.spread, size=self.n_groups))
        return -np.sort(-drawn) if rng.random() < self.config.falling else drawn

    def draw_total(self, rng: np.random.Generator) -> Budget:
        """A size from the smallest to the full one, uniform in its logarithm."""
        low, high = np.log([self.smallest.n_bytes, self.full.n_bytes])
        return Budget(max(int(np.exp(rng.uniform(low, high))), self.smallest.n_bytes))

    def reselect(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """Any level for one group: no two levels are of one size, so bytes must change."""
        child = candidate.copy()
        child[group] = rng.integers(1, self.most + 1)
        return child

    def features(self, candidates: np.ndarray) -> np.ndarray:
        """(B, G, F) thermometers: bit k rises from 0 to 1 over the k-th stretch of the levels."""
        F = self.config.n_features
        height = np.log1p(self.columns + self.slots)
        height = (height - height[0]) / max(height[-1] - height[0], 1e-12) * F  # (R,)
        bits = np.clip(height[:, None] - np.arange(F), 0, 1).astype(np.float32)  # (R, F)
        return np.asarray(bits[candidates - 1])

    def composition(self, candidate: np.ndarray) -> Composition:
        """The columns and slots of every item."""
        level = np.repeat(candidate, self.group_sizes) - 1  # (V,)
        return Composition(self.columns[level], self.slots[level])


def _sizes_of_eights(n_items: int, n_groups: int) -> np.ndarray:
    """(G,) sizes as even as can be, all but the last multiples of 8: bits of slots fill bytes."""
    eights = -(-n_items // 8)
    if n_groups > eights:
        raise InputError(f"{n_groups} groups of {n_items} items, expected at most {eights} groups")
    sizes = even_sizes(eights, n_groups) * 8
    sizes[-1] -= 8 * eights - n_items
    return sizes


def _rises(have: np.ndarray) -> np.ndarray:
    """(B,) how many runs of groups all columns (or slots) of (B, G) have together."""
    before = np.pad(have, ((0, 0), (1, 0)))[:, :-1]
    return np.asarray(np.maximum(have - before, 0).sum(axis=1))


def _shared(codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """(C + 1,) bytes and (C + 1,) chunks that groups share where the deepest has 0 … C columns.

    A codebook comes with its first column, and opens the columns beside it that use it, too.
    """
    n_bytes = np.full(codes.n_columns + 1, head_bytes(codes.n_blocks))
    n_chunks = np.zeros(codes.n_columns + 1, dtype=np.int64)
    books = codes.columns[:, 0]
    starts = [c for c in range(codes.n_columns) if c == 0 or books[c] != books[c - 1]]
    for start, stop in zip(starts, [*starts[1:], codes.n_columns], strict=True):
        n_bytes[start + 1 :] += CHUNK_HEADER + COLUMN_ENTRY * (stop - start)
        n_chunks[start + 1 :] += 1
        if books[start] not in books[:start]:
            n_bytes[start + 1 :] += CHUNK_HEADER + CODEWORDS * codes.width(start)
            n_chunks[start + 1 :] += 1
    return n_bytes, n_chunks
