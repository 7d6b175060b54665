"""Hostile vectors, withdrawn lists and catalogues; where to cut a sound stream."""

import struct
import zlib

import numpy as np

from elasticrec.stream.side_files import WithdrawnList, vector_bytes
from tests.stream.damage import KEY, MODEL, SOUND, sound_head
from tests.stream.golden import catalogue, withdrawn
from tests.stream.hostile import STRANGER, Case


def truncated_at():
    """Lengths below least at which a field, a chunk or its header begins or ends."""
    found = {0, 8, 10, 12, 16, 24, 40, 48, 56, 88, 120, 180, 196, 212, 224, 288, 291, 292, 293}
    head = sound_head()
    found |= {324, 836, 868, 884, 916, 1037, 1069, 1080, head.least - 1}
    return sorted(length for length in found if length < head.least)


def sound_vector():
    """A vector file that the sound stream takes."""
    return vector_bytes(np.arange(-8, 8) / 16, MODEL)


def changed(good, at, code, value):
    """A file with another value and a right CRC."""
    file = bytearray(good)
    struct.pack_into("<" + code, file, at, value)
    return resealed(file)


def resealed(file):
    file = bytearray(file)
    struct.pack_into("<I", file, 12, 0)
    struct.pack_into("<I", file, 12, zlib.crc32(file))
    return bytes(file)


def vectors():
    good = sound_vector()
    other = bytearray(good)
    other[50] ^= 1
    for name, rule, file in (
        ("empty", "no byte at all", b""),
        ("short", "47 bytes: the header is cut off", good[:47]),
        ("cut", "one number too few", resealed(good[:-2])),
        ("long", "one number too many", resealed(good + bytes(2))),
        ("magic", "another magic", changed(good, 7, "B", 0)),
        ("version-1", "version 1", changed(good, 8, "H", 1)),
        ("version-3", "version 3", changed(good, 8, "H", 3)),
        ("wide", "more numbers than the stream has", changed(good, 10, "H", 24)),
        ("crc", "a wrong CRC", good[:12] + bytes(4) + good[16:]),
        ("flipped", "a flipped bit", bytes(other)),
        ("model", "of another model", changed(good, 40, "B", good[40] ^ 1)),
        ("nan", "a number that is NaN", changed(good, 50, "e", float("nan"))),
        ("infinite", "an infinite number", changed(good, 62, "e", float("-inf"))),
    ):
        yield Case(f"vector-{name}", 9, rule, file, "vector")


def withdrawn_lists():
    good = withdrawn(SOUND)

    def listed(numbers):
        items = struct.pack(f"<{len(numbers)}I", *numbers)
        unsigned = good[:12] + bytes(4) + good[16:56] + bytes(64) + items
        return resealed(unsigned[:56] + KEY.sign(unsigned) + items)

    flipped = bytearray(good)
    flipped[120] ^= 1
    for name, rule, file in (
        ("empty", "no byte at all", b""),
        ("short", "119 bytes: the header is cut off", good[:119]),
        ("cut", "half of a number", resealed(good[:-2])),
        ("magic", "another magic", changed(good, 7, "B", 0)),
        ("version", "version 2", changed(good, 8, "H", 2)),
        ("reserved", "a reserved byte that is not 0", changed(good, 10, "H", 1)),
        ("crc", "a wrong CRC", good[:12] + bytes(4) + good[16:]),
        ("flipped", "a flipped bit", bytes(flipped)),
        ("model", "of another model", changed(good, 40, "B", good[40] ^ 1)),
        ("fall", "numbers that fall", listed([7, 3])),
        ("twice", "an item twice", listed([3, 3])),
        ("outside", "an item that does not exist", listed([3, 11])),
        ("most", "item 2^32 - 1", listed([3, 2**32 - 1])),
    ):
        yield Case(f"withdrawn-{name}", 10, rule, file, "withdrawn")
    plain = WithdrawnList(MODEL, np.array(SOUND.withdrawn), sequence=3)
    more = good[:-4] + struct.pack("<I", 8)
    for name, rule, file in (
        ("unsigned", "a list without a signature", plain.pack()),
        ("stranger", "a list signed by another key", plain.pack(STRANGER)),
        ("changed", "an item changed after signing", resealed(more)),
        ("sequence", "a sequence number changed after signing", changed(good, 48, "Q", 9)),
    ):
        yield Case(f"withdrawn-{name}", 10, rule, file, "withdrawn", key=True)


def catalogues():
    good = catalogue(SOUND)
    rule = "its SHA-256 is not the one of the head"
    yield Case("catalogue-changed", 11, rule, good.replace(b"Title 4", b"Title 5"), "catalogue")
    yield Case("catalogue-cut", 11, "a catalogue that is cut off", good[:-9], "catalogue")
    yield Case("catalogue-empty", 11, "no byte at all", b"", "catalogue")
