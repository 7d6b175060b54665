"""The stream's chunks: their headers, checksums and links, as docs/stream-format.md says."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, replace
from enum import IntEnum

from elasticrec.stream.format import LINK

CHUNK_HEADER = 32
"""Bytes before a chunk's payload."""
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
