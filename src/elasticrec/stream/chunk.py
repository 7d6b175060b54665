"""Chunks of a stream, as docs/stream-format.md says, and where they end in one."""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import zlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.stream.format import (
    FREE_CHUNKS,
    ID_KINDS,
    LEAST_STRIDE,
    LINK,
    Head,
    StreamError,
    need,
)

CHUNK_HEADER = 32
"""Bytes before a chunk's payload."""
LONGEST_TEXT = 2**16 - 1
"""Bytes of UTF-8 in one text id."""
_CHUNK = struct.Struct("<IBBHIII12s")
_CRC_AT = 16
COPIED_AT_ONCE = 1 << 22
"""Bytes held at once while a file is copied."""


class Kind(IntEnum):
    """Kinds of chunk."""

    CODEBOOK = 1
    COLUMNS = 2
    CODES = 3
    NEIGHBOURS = 4
    IDS = 5


@dataclass(frozen=True)
class ChunkHeader:
    """The 32 bytes before a chunk's payload (section 2)."""

    length: int
    """Bytes of the payload."""
    kind: int
    width: int
    which: int
    first: int
    count: int
    crc: int = 0
    link: bytes = bytes(LINK)

    @property
    def chunk_bytes(self) -> int:
        """Header and payload."""
        return CHUNK_HEADER + self.length

    def pack(self) -> bytes:
        """The 32 bytes."""
        fields = (self.length, self.kind, self.width, self.which, self.first, self.count)
        return _CHUNK.pack(*fields, self.crc, self.link)

    @classmethod
    def unpack(cls, data: bytes, at: int = 0) -> ChunkHeader:
        """The header at byte `at`."""
        return cls(*_CHUNK.unpack_from(data, at))


def seal(header: ChunkHeader, payload: bytes, link: bytes) -> bytes:
    """The bytes of a chunk with its link and checksum."""
    unsealed = replace(header, length=len(payload), link=link, crc=0).pack()
    crc = zlib.crc32(payload, zlib.crc32(unsealed))
    return unsealed[:_CRC_AT] + struct.pack("<I", crc) + unsealed[_CRC_AT + 4 :] + payload


def link_to(chunk: bytes) -> bytes:
    """The link that the chunk before, or the head, holds."""
    return hashlib.sha256(chunk).digest()[:LINK]


@dataclass(frozen=True, eq=False)
class StoredIds:
    """The ids of all items in item order, ready to be cut into payloads."""

    kind: str
    """One of `u32`, `u64` and `text`."""
    data: bytes
    """Numbers or UTF-8 text, back to back."""
    ends: np.ndarray
    """(V + 1,) int64: where each id's bytes begin in `data`, and the length of `data`."""

    @property
    def number(self) -> int:
        """The head's id kind."""
        return ID_KINDS.index(self.kind)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def payload_bytes(self, first: int, count: int) -> int:
        """Bytes of the payload of `count` ids."""
        lengths = 2 * count if self.kind == "text" else 0
        return int(self.ends[first + count] - self.ends[first]) + lengths

    def payload(self, first: int, count: int) -> bytes:
        """The payload of `count` ids (section 5)."""
        ends = self.ends[first : first + count + 1]
        content = self.data[ends[0] : ends[-1]]
        if self.kind == "text":
            return bytes(np.diff(ends).astype("<u2").tobytes() + content)
        return content


def stored_ids(ids: Ids, kind: str) -> StoredIds:
    """Ids as a stream stores them, `u32`, `u64` or `text`; a number becomes its decimal text."""
    if kind not in ID_KINDS[1:]:
        raise InputError(f"ids of kind {kind!r}, expected u32, u64 or text")
    values = ids.values.tolist()
    if kind == "text":
        return _text([str(value) for value in values])
    size, letter = (4, "I") if kind == "u32" else (8, "Q")
    try:
        data = struct.pack(f"<{len(values)}{letter}", *values)
    except struct.error:
        limit = f"whole numbers from 0 to 2^{8 * size} - 1"
        raise InputError(f"ids that {kind} cannot hold, expected {limit}") from None
    return StoredIds(kind, data, np.arange(len(values) + 1, dtype=np.int64) * size)


def _text(values: list[str]) -> StoredIds:
    """Text ids, each valid and neither empty nor too long."""
    try:
        encoded = [value.encode("utf-8") for value in values]
    except UnicodeEncodeError as error:
        raise InputError(f"an id is no Unicode text ({error})") from None
    for item, text in enumerate(encoded):
        if not 1 <= len(text) <= LONGEST_TEXT:
            raise InputError(
                f"the id of item {item} has {len(text)} bytes, expected 1 to {LONGEST_TEXT}"
            )
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return StoredIds("text", b"".join(encoded), ends)


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
