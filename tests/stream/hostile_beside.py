"""Hostile files beside a bundle: vectors and upgrades; and where to cut a sound bundle."""

import hashlib
import struct
import zlib

import numpy as np

from elasticrec.bundle.header import ENTRY, GROUP, PREFIX, SHAPE, Kind, Layout
from elasticrec.bundle.patch import make_patch
from elasticrec.stream.person import vector_bytes
from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Composition
from tests.bundle.damage import MOST, SOUND, sound
from tests.bundle.golden import material

MODEL = hashlib.sha256(SOUND.name.encode()).hexdigest()


def truncated_at():
    """Every length at which a field, a section or a column of the sound bundle begins or ends."""
    layout = Layout.of(sound())
    found = {each.offset for each in PREFIX}
    for number in range(len(layout.sections)):
        found |= {64 + 32 * number + each.offset for each in ENTRY}
    shape, groups = layout.sections[Kind.SHAPE][0], layout.sections[Kind.GROUPS][0]
    found |= {shape + each.offset for each in SHAPE}
    for g in range(len(layout.sizes)):
        found |= {groups + 16 * g + each.offset for each in GROUP}
    found |= {at + change for at, n in layout.sections.values() for change in (0, 1, n - 1, n)}
    return sorted(found - {len(sound())})


def sound_vector():
    """A vector file that the sound bundle takes."""
    return vector_bytes(np.array([0.5, -0.5, 0.25, 0.25, 0.25, 0.25, -0.5, 0.0]), MODEL)


def vectors():
    """(name, what it teaches, bytes) of every hostile vector file."""
    good = sound_vector()

    def resealed(file):
        file = bytearray(file)
        struct.pack_into("<I", file, 12, 0)
        struct.pack_into("<I", file, 12, zlib.crc32(file))
        return bytes(file)

    def changed(at, code, value):
        file = bytearray(good)
        struct.pack_into("<" + code, file, at, value)
        return resealed(file)

    yield "vector-empty", "no byte at all", b""
    yield "vector-short", "47 bytes: the prefix is cut off", good[:47]
    yield "vector-cut", "one number too few", resealed(good[:-2])
    yield "vector-long", "one number too many", resealed(good + bytes(2))
    yield "vector-magic", "another magic", changed(7, "B", 0)
    yield "vector-version", "version 2", changed(8, "H", 2)
    yield "vector-wide", "more numbers than the bundle has dimensions", changed(10, "H", 16)
    yield "vector-crc", "a wrong checksum", good[:12] + bytes(4) + good[16:]
    yield "vector-flipped", "a flipped bit", good[:-1] + bytes([good[-1] ^ 1])
    yield "vector-model", "of another model", changed(40, "B", good[40] ^ 1)
    yield "vector-nan", "a number that is NaN", changed(50, "e", float("nan"))
    yield "vector-infinite", "an infinite number", changed(62, "e", float("-inf"))


def new_bundle():
    """What the sound upgrade makes of the sound bundle."""
    made, _ = material(SOUND)
    swapped = Composition(np.array([[1], [2]]), np.array([1, 2]))
    return pack(made, swapped, about={"name": "new", "elasticrec": "golden"})


def patches():
    """(name, what it teaches, bytes) of every hostile upgrade of the sound bundle."""
    old = sound()
    good = make_patch(old, new_bundle())
    n_operations = struct.unpack_from("<I", good, 12)[0]
    operations = [struct.unpack_from("<QQ", good, 96 + 16 * i) for i in range(n_operations)]
    copies = [i for i, (at, _) in enumerate(operations) if at != MOST]

    def changed(*edits):
        file = bytearray(good)
        for at, code, value in edits:
            struct.pack_into("<" + code, file, at, value)
        return bytes(file)

    copy = 96 + 16 * copies[-1]
    insert = 96 + 16 * next(i for i, (at, _) in enumerate(operations) if at == MOST)
    at = operations[copies[-1]][0]
    yield "patch-empty", "no byte at all", b""
    yield "patch-short", "95 bytes: the prefix is cut off", good[:95]
    yield "patch-magic", "another magic", changed((0, "B", 0))
    yield "patch-version", "version 2", changed((8, "H", 2))
    yield "patch-reserved", "a reserved byte that is not 0", changed((10, "H", 1))
    yield "patch-operations", "2^32 - 1 operations", changed((12, "I", 2**32 - 1))
    yield (
        "patch-fewer",
        "one operation too few: it is taken for inserts",
        changed((12, "I", n_operations - 1)),
    )
    yield "patch-old", "made for a longer file", changed((16, "Q", len(old) + 1))
    yield "patch-new", "a new length of 2^64 - 1", changed((24, "Q", MOST))
    yield (
        "patch-large",
        "a new length of 2^40: memory for a number alone",
        changed((24, "Q", 2**40)),
    )
    yield "patch-old-hash", "made for another file of this length", changed((32, "B", good[32] ^ 1))
    yield "patch-new-hash", "makes another file than it says", changed((64, "B", good[64] ^ 1))
    yield "patch-nothing", "a copy of no bytes", changed((copy + 8, "Q", 0))
    yield "patch-outside", "a copy past the end of the old file", changed((copy, "Q", len(old)))
    yield "patch-wraps", "offset + length wraps around 2^64", changed((copy, "Q", MOST - 1))
    yield "patch-long", "a copy of 2^64 - 1 bytes", changed((copy + 8, "Q", MOST))
    yield (
        "patch-insert",
        "an insert of more bytes than there are",
        changed((insert + 8, "Q", 2**32)),
    )
    yield "patch-moved", "a copy of the wrong place", changed((copy, "Q", at - 1))
    yield "patch-cut", "the last insert is cut off", good[:-1]
    yield "patch-left", "a byte is left over", good + b"\0"
    yield "patch-flipped", "a flipped bit in an insert", good[:-1] + bytes([good[-1] ^ 1])
    bomb = struct.pack("<QQ", 0, len(old)) * 64
    head = bytearray(good[:96])
    struct.pack_into("<I", head, 12, 64)
    struct.pack_into("<Q", head, 24, 64 * len(old))
    head[64:96] = hashlib.sha256(old * 64).digest()
    yield "patch-bomb", "64 copies of the whole file: copies must rise", bytes(head) + bomb
