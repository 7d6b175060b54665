"""The fields of a bundle as data: where they stand, how wide they are, what they may hold.

The bytes are those of docs/bundle-format.md. Writer, upgrades and the makers of damaged files read
these tables; the runtimes on devices do not, they are written from the page.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from elasticrec.data.errors import InputError
from elasticrec.space.file_bytes import (
    ENTRY_BYTES,
    GROUP_BYTES,
    MOST_BLOCKS,
    MOST_GROUPS,
    MOST_ITEMS,
    MOST_NEIGHBOURS,
    PREFIX_BYTES,
    SHAPE_BYTES,
    aligned,
)

MAGIC = b"\x89ELASTIC"
VERSION = 3
LONGEST = 2**40
"""No bundle has more bytes."""
LARGEST_FLOAT = 1e6
"""Every float of a bundle is at most so large."""
YEAR_10000 = 253_402_300_800
"""Its first second since 1970: dates end before it."""
ITEMS_PER_BYTE = 8
"""A bundle has at most so many items per byte of its length."""


class Kind(IntEnum):
    """The sections, in the order in which they stand."""

    SHAPE = 1
    META = 2
    GROUPS = 3
    MEANS = 4
    DECODE = 5
    CODES = 6
    NEIGHBOURS = 7
    MAP = 8
    IDS = 9
    WITHDRAWN = 10
    WORDS = 11


class IdKind(IntEnum):
    """How ids are stored: an item's own number, 32 or 64 bits, or text."""

    DENSE = 0
    U32 = 1
    U64 = 2
    STRINGS = 3


PERSONS = ("history", "vector+history")
"""Whom a bundle may be made for; a byte of SHAPE holds the position in this list."""


@dataclass(frozen=True)
class Field:
    """One field of a record of fixed length."""

    name: str
    """What it is called here."""
    offset: int
    """Where it starts in its record."""
    code: str
    """Its type, as `struct` spells it."""
    least: int | float | None = None
    """The smallest value allowed, where there is one."""
    most: int | float | None = None
    """The largest value allowed, where there is one."""

    @property
    def width(self) -> int:
        """Its bytes."""
        return struct.calcsize("<" + self.code)


PREFIX = (
    Field("magic", 0, "8s"),
    Field("version", 8, "H", VERSION, VERSION),
    Field("reserved", 10, "H", 0, 0),
    Field("n_sections", 12, "I", 6, len(Kind)),
    Field("file_bytes", 16, "Q", PREFIX_BYTES, LONGEST),
    Field("crc", 24, "I"),
    Field("reserved2", 28, "I", 0, 0),
    Field("model_id", 32, "32s"),
)
ENTRY = (
    Field("kind", 0, "I", min(Kind), max(Kind)),
    Field("crc", 4, "I"),
    Field("offset", 8, "Q", PREFIX_BYTES, LONGEST),
    Field("length", 16, "Q", 0, LONGEST),
    Field("reserved", 24, "Q", 0, 0),
)
SHAPE = (
    Field("n_items", 0, "I", 1, MOST_ITEMS),
    Field("n_groups", 4, "H", 1, MOST_GROUPS),
    Field("n_blocks", 6, "H", 1, MOST_BLOCKS),
    Field("block_size", 8, "B", 8, 8),
    Field("id_kind", 9, "B", min(IdKind), max(IdKind)),
    Field("person", 10, "B", 0, len(PERSONS) - 1),
    Field("by_root", 11, "B", 0, 1),
    Field("n_lists", 12, "H", 0, MOST_BLOCKS),
    Field("reserved", 14, "H", 0, 0),
    Field("trained", 16, "Q", 0, YEAR_10000 - 1),
    Field("catalogue", 24, "32s"),
    Field("reserved2", 56, "Q", 0, 0),
)
GROUP = (
    Field("size", 0, "I", 1, MOST_ITEMS),
    Field("neighbours", 4, "B", 0, MOST_NEIGHBOURS),
    Field("reserved", 5, "B", 0, 0),
    Field("reserved2", 6, "H", 0, 0),
    Field("by_vector", 8, "f", 0, LARGEST_FLOAT),
    Field("by_history", 12, "f", 0, LARGEST_FLOAT),
)


def record(fields: Sequence[Field], values: Mapping[str, object]) -> bytes:
    """The bytes of one record; reserved fields are 0, and a value out of its limits is refused."""
    reserved = {field.name: 0 for field in fields if field.name.startswith("reserved")}
    every = {**reserved, **values}
    for field in fields:
        value = every[field.name]
        if not isinstance(value, bytes) and not _within(value, field):
            limits = f"{field.least} to {field.most}"
            raise InputError(f"{field.name} is {value}, a bundle holds {limits}")
    code = "<" + "".join(field.code for field in fields)
    return struct.pack(code, *(every[field.name] for field in fields))


def values(fields: Sequence[Field], file: bytes | memoryview, at: int = 0) -> dict[str, int]:
    """The whole numbers of one record; what it holds besides is left out."""
    found = {}
    for field in fields:
        (value,) = struct.unpack_from("<" + field.code, file, at + field.offset)
        if isinstance(value, int):
            found[field.name] = value
    return found


def assemble(model_id: bytes, sections: Mapping[Kind, bytes]) -> bytes:
    """The whole file around some sections: prefix, section table, padding and checksums."""
    kinds = sorted(sections)
    at = PREFIX_BYTES + ENTRY_BYTES * len(kinds)
    table, places = b"", {}
    for kind in kinds:
        places[kind] = aligned(at)
        at = places[kind] + len(sections[kind])
        entry = {
            "kind": int(kind),
            "crc": zlib.crc32(sections[kind]),
            "offset": places[kind],
            "length": len(sections[kind]),
        }
        table += record(ENTRY, entry)
    prefix = {
        "magic": MAGIC,
        "version": VERSION,
        "n_sections": len(kinds),
        "file_bytes": at,
        "crc": 0,
        "model_id": model_id,
    }
    prefix["crc"] = zlib.crc32(record(PREFIX, prefix) + table)
    file = bytearray(at)
    file[: PREFIX_BYTES + len(table)] = record(PREFIX, prefix) + table
    for kind in kinds:
        file[places[kind] : places[kind] + len(sections[kind])] = sections[kind]
    return bytes(file)


@dataclass(frozen=True)
class Layout:
    """Where everything stands in one bundle that the writer made."""

    model_id: bytes
    """The 32 bytes that name the model."""
    sections: Mapping[Kind, tuple[int, int]]
    """Offset and length of each section."""
    shape: Mapping[str, int]
    """The whole numbers of SHAPE."""
    sizes: np.ndarray
    """(G,) int64 items per group."""
    neighbours: np.ndarray
    """(G,) int64 neighbours per item."""
    depths: np.ndarray
    """(G, N) uint8."""

    @classmethod
    def of(cls, file: bytes) -> Layout:
        """The layout of a bundle; a file that is none, or of another version, is refused.

        It serves files from our own writer: it checks what it needs, not all that a device does.
        """
        prefix = values(PREFIX, file) if len(file) >= PREFIX_BYTES else {"file_bytes": -1}
        if file[:8] != MAGIC or prefix["file_bytes"] != len(file):
            raise InputError(f"{len(file)} bytes that are no whole bundle")
        if prefix["version"] != VERSION:
            raise InputError(f"a bundle of version {prefix['version']}, expected {VERSION}")
        sections = {}
        for number in range(prefix["n_sections"]):
            entry = values(ENTRY, file, PREFIX_BYTES + number * ENTRY_BYTES)
            sections[Kind(entry["kind"])] = entry["offset"], entry["length"]
        at, length = sections[Kind.SHAPE]
        shape = values(SHAPE, file[at : at + min(length, SHAPE_BYTES)])
        G, N = shape["n_groups"], shape["n_blocks"]
        at = sections[Kind.GROUPS][0]
        entries = [values(GROUP, file, at + g * GROUP_BYTES) for g in range(G)]
        depths = np.frombuffer(file, np.uint8, G * N, at + G * GROUP_BYTES).reshape(G, N)
        sizes = np.array([entry["size"] for entry in entries], dtype=np.int64)
        counts = np.array([entry["neighbours"] for entry in entries], dtype=np.int64)
        return cls(bytes(file[32:64]), sections, shape, sizes, counts, depths)


def _within(value: object, field: Field) -> bool:
    """Whether a number is within a field's limits, which NaN is not."""
    low = -LONGEST if field.least is None else field.least
    high = LONGEST if field.most is None else field.most
    return isinstance(value, int | float) and low <= value <= high
