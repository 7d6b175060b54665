"""Where a stream's chunks end, and the longest prefix within a budget; payloads are not read."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.stream.chunk import CHUNK_HEADER, ChunkHeader
from elasticrec.stream.format import FREE_CHUNKS, LEAST_STRIDE, Head, StreamError, need

COPIED_AT_ONCE = 1 << 22
"""Bytes held at once while a file is copied."""


@dataclass(frozen=True)
class StreamIndex:
    """The head of a stream, or of a prefix, and the headers of its whole chunks."""

    head: Head
    headers: list[ChunkHeader]
    ends: list[int]
    """The byte after each whole chunk."""

    def longest_prefix(self, budget_bytes: int) -> int:
        """The end of the longest run of whole chunks within the budget."""
        if budget_bytes < self.head.least:
            raise InputError(
                f"a budget of {budget_bytes} bytes, the smallest useful size of this stream is "
                f"{self.head.least}"
            )
        return self.ends[bisect_right(self.ends, budget_bytes) - 1]


def read_index(path: Path | str) -> StreamIndex:
    """The index of a stream or of one of its prefixes."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            need(size > 0, "is empty, expected a stream")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return index_of(data, size)
    except StreamError as error:
        raise StreamError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def index_of(data: bytes | mmap.mmap, size: int) -> StreamIndex:
    """The index of a stream's first `size` bytes."""
    head = Head.unpack(data[:1024])
    need(size <= head.length, f"{size} bytes, expected at most the stream's length {head.length}")
    headers: list[ChunkHeader] = []
    ends: list[int] = []
    at = 276 + len(head.empty)
    while at < min(head.length, size):
        number = len(ends)
        need(
            at + CHUNK_HEADER <= head.length,
            f"chunk {number} starts at byte {at}, expected a chunk that ends at {head.length}",
        )
        if at + CHUNK_HEADER > size:
            break
        need(
            at >= LEAST_STRIDE * (number - FREE_CHUNKS),
            f"chunk {number} starts at byte {at}: the stream has too many small chunks",
        )
        header = ChunkHeader.unpack(data[at : at + CHUNK_HEADER])
        end = at + header.chunk_bytes
        need(end <= head.length, f"chunk {number} ends at {end}, the stream at {head.length}")
        if end > size:
            break
        headers.append(header)
        ends.append(end)
        at = end
    need(size >= head.least, f"{size} bytes, the smallest useful prefix has {head.least}")
    need(head.least in ends, f"least is {head.least}, expected the end of a chunk")
    return StreamIndex(head, headers, ends)


def copy_prefix(path: Path | str, budget_bytes: int, out: Path | str) -> int:
    """Write the longest prefix within a budget to `out`, whole or not at all; its bytes."""
    end = read_index(path).longest_prefix(budget_bytes)
    with Path(path).open("rb") as source, written_whole(out) as target:
        left = end
        while left:
            part = source.read(min(left, COPIED_AT_ONCE))
            need(bool(part), f"{path}: ends {left} bytes early, it changed while it was copied")
            target.write(part)
            left -= len(part)
    return end
