"""Cuts an order's climbs into chunks that grow with the prefix before them."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from elasticrec.compression.codebooks import CODEWORDS
from elasticrec.compression.codes import WHOLE_GAIN, Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.errors import InputError
from elasticrec.ordering.order import COLUMN, Order
from elasticrec.stream.chunk import CHUNK_HEADER, ChunkHeader, Kind, StoredIds
from elasticrec.stream.format import FREE_CHUNKS, LEAST_STRIDE, MAX_CODEBOOKS, head_bytes

COLUMN_ENTRY = 16
"""Bytes that open one column in a chunk of columns."""


def largest_chunk(start: int) -> int:
    """Most bytes of a chunk that starts at a byte behind the smallest useful prefix.

    A prefix then takes at least 98 % of a budget of 120 KB or more and 95 % of a smaller one. From
    10,000 items and 11 bytes per item on, everything but payloads is at most 2 % of a prefix.
    """
    return max(start // 50, min(start // 20, 2400), 256)


def runs(order: Order, start: int, stop: int) -> list[tuple[int, int, int, int]]:
    """(kind, which, first, count) of some climbs, neighbouring ranges of one column joined."""
    fields = (order.kind, order.which, order.first, order.count)
    joined: list[tuple[int, int, int, int]] = []
    for kind, which, first, n in zip(*(f[start:stop].tolist() for f in fields), strict=True):
        before = joined[-1] if joined else (-1, 0, 0, 0)
        if before[:2] == (kind, which) and first == before[2] + before[3]:
            joined[-1] = (kind, which, before[2], before[3] + n)
        else:
            joined.append((kind, which, first, n))
    return joined


def neighbour_bytes(count: int, n_items: int) -> int:
    """Payload bytes of one slot of `count` items (section 4)."""
    full, rest = divmod(max(1, (n_items - 1).bit_length()), 8)
    return full * count + rest * ((count + 7) // 8) + (count + 1) // 2


def slot_payload(neighbours: Neighbours, slot: int, first: int, count: int) -> bytes:
    """The payload of one slot of some items (section 4)."""
    n_items = len(neighbours.numbers)
    bits = max(1, (n_items - 1).bit_length())
    numbers = neighbours.numbers[first : first + count, slot].astype(np.uint32)
    rows = [(numbers >> 8 * row).astype(np.uint8).tobytes() for row in range(bits // 8)]
    for bit in range(bits - bits % 8, bits):
        rows.append(np.packbits((numbers >> bit & 1).astype(np.uint8), bitorder="little").tobytes())
    votes = np.zeros(count + count % 2, dtype=np.uint8)
    votes[:count] = neighbours.votes[first : first + count, slot]
    rows.append((votes[0::2] | votes[1::2] << 4).tobytes())
    return b"".join(rows)


def column_entry(codebook: int, block: int, scale: int, gain: int, weights: np.ndarray) -> bytes:
    """The 16 bytes that open one column (section 3)."""
    return struct.pack("<HHHHff", codebook, block, scale, gain, *map(float, weights))


class Cutter:
    """Chunks in the making, and all that a reader would know after them."""

    def __init__(
        self, codes: Codes, neighbours: Neighbours, weights: np.ndarray, ids: StoredIds | None
    ) -> None:
        self.codes, self.neighbours, self.weights, self.ids = codes, neighbours, weights, ids
        self.n_items = codes.data.shape[1]
        self.at = head_bytes(len(codes.empty) // 8)
        self.least = 0
        self.chunks: list[tuple[ChunkHeader, bytes]] = []
        self.books: dict[int, int] = {}
        self.opened = 0
        self.known = 0

    def cut(self, order: Order, least_climbs: int) -> list[tuple[ChunkHeader, bytes]]:
        """The unsealed chunks of all climbs."""
        for run in runs(order, 0, least_climbs):
            self.climb(*run)
        self.least = self.at
        for run in runs(order, least_climbs, len(order.kind)):
            self.climb(*run)
        return self.chunks

    def climb(self, kind: int, which: int, first: int, count: int) -> None:
        """The chunks of one climb, with whatever they need before them."""
        if kind == COLUMN:
            self._open_columns(which)
            cuts = self._cuts(first, count, lambda _, n: n)
        else:
            cuts = self._cuts(first, count, lambda _, n: neighbour_bytes(n, self.n_items))
        for start, n in cuts:
            self._give_ids(start + n)
            if kind == COLUMN:
                payload = self.codes.data[which, start : start + n].tobytes()
                self._add(Kind.CODES, payload, which, start, n)
            else:
                payload = slot_payload(self.neighbours, which, start, n)
                self._add(Kind.NEIGHBOURS, payload, which, start, n)

    def _open_columns(self, column: int) -> None:
        """Write codebooks and COLUMNS until a column is open."""
        columns = self.codes.columns
        while self.opened <= column:
            book = int(columns[self.opened, 0])
            self._give_codebook(book)
            others = np.flatnonzero(columns[self.opened :, 0] != book)
            stop = self.opened + int(others[0]) if len(others) else len(columns)
            for start, n in self._cuts(
                self.opened, stop - self.opened, lambda _, n: COLUMN_ENTRY * n
            ):
                part = [self._column(number) for number in range(start, start + n)]
                self._add(Kind.COLUMNS, b"".join(part), start, 0, n)
            self.opened = stop

    def _column(self, number: int) -> bytes:
        """The entry of one column."""
        book, block, scale = self.codes.columns[number].tolist()
        gain = int(self.codes.gains[number]) if self.codes.cosine else WHOLE_GAIN
        return column_entry(self.books[book], block, scale, gain, self.weights[number + 1])

    def _give_codebook(self, book: int) -> None:
        """Write a codebook that has not come yet."""
        if book in self.books:
            return
        if len(self.books) == MAX_CODEBOOKS:
            raise InputError(f"codebook {MAX_CODEBOOKS + 1}, expected at most {MAX_CODEBOOKS}")
        self.books[book] = len(self.books)
        words = self.codes.codebooks[book]
        width = words.shape[1]
        for start, n in self._cuts(0, CODEWORDS, lambda _, n: width * n):
            payload = words[start : start + n].tobytes()
            self._add(Kind.CODEBOOK, payload, self.books[book], start, n, width // 8)

    def _give_ids(self, stop: int) -> None:
        """Write the ids of all items below `stop` that have not come yet."""
        if self.ids is None or stop <= self.known:
            return
        for start, n in self._cuts(self.known, stop - self.known, self.ids.payload_bytes):
            self._add(Kind.IDS, self.ids.payload(start, n), 0, start, n)
        self.known = stop

    def _cuts(
        self, first: int, count: int, payload_bytes: Callable[[int, int], int]
    ) -> Iterator[tuple[int, int]]:
        """(first, count) of chunks that are as even as can be, each within the room there is."""
        while count:
            n = count
            if self.least:  # behind the smallest useful prefix
                room = largest_chunk(self.at) - CHUNK_HEADER
                take = partial(payload_bytes, first)
                n = max(1, bisect_right(range(1, count + 1), room, key=take))
                even = -(-count // -(-count // n))
                n = min(n, -(-even // 8) * 8)
            yield first, n
            first, count = first + n, count - n

    def _add(
        self, kind: Kind, payload: bytes, which: int, first: int, count: int, width: int = 0
    ) -> None:
        """Append a chunk."""
        number = len(self.chunks)
        earliest = LEAST_STRIDE * (number - FREE_CHUNKS)
        if self.at < earliest:
            said = f"expected {earliest} or later: fewer, larger climbs"
            raise InputError(f"chunk {number} would start at byte {self.at}, {said}")
        header = ChunkHeader(len(payload), kind, width, which, first, count)
        self.chunks.append((header, payload))
        self.at += header.chunk_bytes
