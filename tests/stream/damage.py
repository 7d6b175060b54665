"""Streams with one thing wrong: change fields and chunks, and keep everything else right."""

import hashlib
import struct
import zlib
from dataclasses import dataclass, replace
from functools import cache

from elasticrec.stream.chunk import ChunkHeader, index_of, link_to, seal
from elasticrec.stream.format import Head, head_bytes
from tests.stream.golden import KEY, stream
from tests.stream.worlds import World

NAN, INFINITY = float("nan"), float("inf")
HEAD = {
    "magic": (0, "8s"),
    "version": (8, "H"),
    "n_blocks": (10, "H"),
    "n_items": (12, "I"),
    "id_kind": (16, "B"),
    "score": (17, "B"),
    "person": (18, "B"),
    "reserved": (20, "I"),
    "trained": (32, "Q"),
    "least": (40, "Q"),
    "length": (48, "Q"),
    "vote_0": (120, "H"),
    "vote_14": (148, "H"),
    "unit": (180, "f"),
    "recency": (184, "f"),
    "weight_history": (188, "f"),
    "weight_vector": (192, "f"),
}
"""Offset and struct code of the head's fields that a test changes."""
SOUND = World(
    "sound",
    "a stream with chunks of every kind, which opens",
    11,
    2,
    ((2, (0,), 100), (1, (0, 1), 50)),
    ((0, 0, 0, 11), (1, 0, 0, 11), (0, 1, 0, 11), (0, 2, 0, 7), (1, 1, 0, 5)),
    n_slots=2,
    least_climbs=2,
    ids="text",
    withdrawn=(3, 7),
    signed=True,
    titles=True,
)


@dataclass
class Chunk:
    """One chunk of a draft; what is not given is made right."""

    header: ChunkHeader
    payload: bytes
    link: bytes | None = None
    """Given, it stands instead of the right link."""
    length: int | None = None
    """Given, it stands instead of the payload's length."""
    flipped: bool = False
    """One bit is changed after the checksum was made."""

    def change(self, **fields):
        """Other header fields."""
        self.header = replace(self.header, **fields)

    def put(self, at, code, value):
        """Other bytes in the payload."""
        payload = bytearray(self.payload)
        struct.pack_into("<" + code, payload, at, value)
        self.payload = bytes(payload)

    def sealed(self, link):
        """The bytes of the chunk."""
        file = seal(self.header, self.payload, link if self.link is None else self.link)
        if self.length is not None:
            unsealed = struct.pack("<I", self.length) + file[4:16] + bytes(4) + file[20:]
            crc = struct.pack("<I", zlib.crc32(unsealed))
            file = unsealed[:16] + crc + unsealed[20:]
        return file[:-1] + bytes([file[-1] ^ 64]) if self.flipped else file


class Draft:
    """A sound stream taken apart: change it, then ask for the file."""

    def __init__(self, data):
        index = index_of(data, len(data))
        start = head_bytes(index.head.n_blocks)
        self.head = bytearray(data[:start])
        self.chunks = []
        for header, end in zip(index.headers, index.ends, strict=True):
            self.chunks.append(Chunk(header, data[end - header.length : end]))
        self.least_chunks = index.ends.index(index.head.least) + 1
        self.fields = {}
        self.link = None
        self.key = KEY

    def find(self, kind, nth=0):
        """The nth chunk of a kind."""
        return [chunk for chunk in self.chunks if chunk.header.kind == kind][nth]

    def place(self, kind, nth=0):
        """The number of the nth chunk of a kind."""
        return self.chunks.index(self.find(kind, nth))

    def add(self, kind, which, first, count, payload, width=0, at=None):
        """Put a chunk at the end, or at a place."""
        header = ChunkHeader(len(payload), kind, width, which, first, count)
        self.chunks.insert(len(self.chunks) if at is None else at, Chunk(header, payload))
        return self

    def set(self, **fields):
        """Other head fields."""
        self.fields |= fields
        return self

    def file(self):
        """The whole file."""
        link, parts = bytes(12), []
        for chunk in reversed(self.chunks):
            parts.insert(0, chunk.sealed(link))
            link = link_to(parts[0])
        sizes = [len(part) for part in parts]
        start = len(self.head)
        right = {
            "least": start + sum(sizes[: self.least_chunks]),
            "length": start + sum(sizes),
        }
        for name, value in (right | self.fields).items():
            at, code = HEAD[name]
            struct.pack_into("<" + code, self.head, at, value)
        self.head[start - 80 : start - 68] = link if self.link is None else self.link
        return seal_head(bytes(self.head), self.key) + b"".join(parts)


def seal_head(head, key):
    """The head with a right signature, or none, and a right checksum."""
    body = head[:-68]
    body += bytes(64) if key is None else key.sign(body)
    return body + struct.pack("<I", zlib.crc32(body))


@cache
def sound(ids="text"):
    """The bytes of the sound stream, with ids of a kind."""
    return stream(replace(SOUND, ids=ids))


def draft(ids="text"):
    """A fresh draft of it."""
    return Draft(sound(ids))


def sound_head():
    """The fields of the sound stream's head."""
    return Head.unpack(sound())


MODEL = hashlib.sha256(SOUND.name.encode()).hexdigest()
