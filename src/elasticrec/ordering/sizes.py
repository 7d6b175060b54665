"""Bytes of an order's steps, and the composition that a number of bytes buys."""

from __future__ import annotations

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.ordering.order import COLUMN, Order
from elasticrec.space import Composition

_HEAD = 276
"""Bytes of a stream's head beside the vector of an empty history."""
_CHUNK = 32
"""Bytes of a chunk beside its payload."""
_COLUMN = 16
"""Bytes that open a column."""


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
