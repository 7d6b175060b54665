"""Chunks of a stream: headers, checksums, links and payloads, as docs/stream-format.md says."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.stream.format import ID_KINDS, LINK

CHUNK_HEADER = 32
"""Bytes before a chunk's payload."""
COLUMN_ENTRY = 16
"""Bytes that open one column in a chunk of columns."""
LONGEST_TEXT = 2**16 - 1
"""Bytes of UTF-8 in one text id."""
_CHUNK = struct.Struct("<IBBHIII12s")
_CRC_AT = 16


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
    if len(set(values)) < len(values):
        raise InputError("an id is given twice, expected different ids")
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
