"""Hostile bundles whose floats, codes, neighbours, ids or withdrawn items break a rule."""

import struct

import numpy as np

from elasticrec.bundle.header import Kind
from tests.bundle.damage import INFINITY, NAN, draft

STEPS, GAINS, VOTES = 12, 12 + 144, 12 + 144 + 1024  # offsets in DECODE where N = 1


def of_floats():
    for name, kind, code, at, value, words in (
        ("means-nan", Kind.MEANS, "e", 6, NAN, "a mean that is NaN"),
        ("means-infinite", Kind.MEANS, "e", 34, INFINITY, "an infinite number in the mean person"),
        ("map-nan", Kind.MAP, "e", 126, NAN, "NaN as the map's last number"),
        ("map-infinite", Kind.MAP, "e", 0, -INFINITY, "an infinite number in the map"),
        ("scale-nan", Kind.DECODE, "f", 0, NAN, "a scale that is NaN"),
        ("scale-negative", Kind.DECODE, "f", 4, -0.25, "a negative scale"),
        ("scale-large", Kind.DECODE, "f", 0, 1.5e6, "a scale above 10^6"),
        ("step-nan", Kind.DECODE, "f", STEPS, NAN, "a step that is NaN"),
        ("step-infinite", Kind.DECODE, "f", GAINS - 4, -INFINITY, "an infinite step, the last one"),
        ("step-large", Kind.DECODE, "f", STEPS + 4, -3e38, "a step whose square overflows"),
        ("gain-nan", Kind.DECODE, "f", GAINS, NAN, "a gain that is NaN: no order is left"),
        ("gain-unused", Kind.DECODE, "f", VOTES - 4, NAN, "NaN in a gain that no item has"),
        ("gain-negative", Kind.DECODE, "f", GAINS + 4, -1.0, "a negative gain turns a list around"),
        ("gain-infinite", Kind.DECODE, "f", GAINS + 8, INFINITY, "an infinite gain"),
        ("vote-nan", Kind.DECODE, "f", VOTES + 60, NAN, "a vote that is NaN"),
        ("vote-negative", Kind.DECODE, "f", VOTES + 4, -1.0, "a negative vote"),
        ("vote-empty", Kind.DECODE, "f", VOTES, 0.5, "empty slots that vote"),
    ):
        yield f"floats-{name}", words, draft().pack(kind, code, at, value).file()


def of_codes_and_neighbours():
    one = draft()
    yield "codes-short", "CODES lack a byte", one.set(Kind.CODES, one[Kind.CODES][:-1]).file()
    yield (
        "codes-long",
        "CODES have a byte too many",
        one.set(Kind.CODES, draft()[Kind.CODES] + b"\0").file(),
    )
    # V = 11: four bit planes per slot. Group 0 has 5 items: planes of 1 byte, weights of 3 bytes.
    lists = draft()[Kind.NEIGHBOURS]
    part = bytearray(lists)
    for plane in range(4):
        part[plane] |= 1
    part[4] |= 15
    yield "neighbours-number", "a neighbour whose number no item has", changed(part)
    part = bytearray(lists)
    part[4:7] = bytes(3)
    part[11:14] = bytes(3)
    yield "neighbours-empty", "empty slots that name a neighbour", changed(part)
    part = bytearray(lists)
    part[4] &= 0xF1
    part[11] |= 0x0F
    yield "neighbours-rise", "a weight that rises from one slot to the next", changed(part)
    part = bytearray(lists)
    part[0] |= 0x80
    yield "neighbours-bit", "an unused bit of a plane that is not 0", changed(part)
    part = bytearray(lists)
    part[6] |= 0xF0
    yield "neighbours-half", "an unused half of a byte of weights that is not 0", changed(part)
    yield "neighbours-short", "NEIGHBOURS lack a byte", changed(lists[:-1])
    yield "neighbours-missing", "groups keep neighbours, but there are none", changed(None)
    none = draft().put("group", "neighbours", 0).put("group", "neighbours", 0, at=16)
    yield "neighbours-unwanted", "NEIGHBOURS that no group keeps", none.file()
    none = draft().put("group", "neighbours", 0).put("group", "neighbours", 0, at=16)
    yield "neighbours-void", "NEIGHBOURS without a byte", none.set(Kind.NEIGHBOURS, b"").file()
    words = bytes(draft()[Kind.WORDS])
    for name, content, what in (
        ("missing", None, "a list of words, but no WORDS"),
        ("short", words[:-1], "WORDS lack a byte"),
        ("long", words + bytes(len(words)), "WORDS of twice as many lists"),
    ):
        yield f"words-{name}", what, draft().set(Kind.WORDS, content).file()
    yield "map-short", "a MAP that lacks a row", draft().set(Kind.MAP, bytes(112)).file()


def changed(part):
    """The sound bundle with other neighbours."""
    return draft().set(Kind.NEIGHBOURS, part).file()


def of_ids():
    section = bytes(draft()[Kind.IDS])
    ends, text = list(struct.unpack_from("<12I", section)), section[48:]

    def ids(ends, text):
        return draft().set(Kind.IDS, struct.pack("<12I", *ends) + text).file()

    def with_end(number, value):
        return ids([value if i == number else end for i, end in enumerate(ends)], text)

    yield "ids-first", "a first offset that is not 0", with_end(0, 1)
    yield "ids-last", "a last offset before the end of the text", with_end(11, ends[11] - 1)
    yield "ids-past", "a last offset past the text", with_end(11, ends[11] + 1)
    yield "ids-far", "an offset of 2^32 - 1", with_end(5, 2**32 - 1)
    yield "ids-fall", "offsets that fall", with_end(5, ends[4] - 1)
    yield "ids-void", "an id without text", with_end(5, ends[4])
    yield (
        "ids-offsets",
        "fewer bytes than the offsets take",
        draft().set(Kind.IDS, section[:47]).file(),
    )
    yield "ids-missing", "string ids, but no IDS", draft().set(Kind.IDS, None).file()
    for name, bad, words in (
        ("byte", b"\xff", "a byte that UTF-8 does not have"),
        ("overlong", b"\xc0\xaf", "a character spelled too long"),
        ("surrogate", b"\xed\xa0\x80", "half of a surrogate pair"),
        ("cut", b"\xf0\x9f\x8e", "a character that is cut off at the end"),
    ):
        yield f"ids-{name}", words, ids(ends, text[: -len(bad)] + bad)
    within = text.index("ключ".encode()) + 1
    moved = [within if i == 1 else end for i, end in enumerate(ends)]
    yield "ids-inside", "the text is UTF-8, but one id starts inside a character", ids(moved, text)
    twice = text[: ends[1]] * 2 + text[ends[2] :]
    moved = [0, ends[1], *(end + 2 * ends[1] - ends[2] for end in ends[2:])]
    yield "late-strings", "one string id twice", ids(moved, twice)
    numbers = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2])
    for kind, code in ((1, "<u4"), (2, "<u8")):
        made = draft().put("shape", "id_kind", kind).set(Kind.IDS, numbers.astype(code).tobytes())
        yield f"late-u{32 * kind}", f"one {32 * kind}-bit id twice", made.file()
    short = draft().put("shape", "id_kind", 1).set(Kind.IDS, numbers[:-1].astype("<u4").tobytes())
    yield "ids-short", "one 32-bit id too few", short.file()


def of_withdrawn():
    for name, words, content in (
        ("outside", "a withdrawn item that does not exist", struct.pack("<2I", 3, 11)),
        ("twice", "an item withdrawn twice", struct.pack("<2I", 3, 3)),
        ("fall", "withdrawn items that fall", struct.pack("<2I", 7, 3)),
        ("short", "WITHDRAWN of 7 bytes", struct.pack("<2I", 3, 7)[:-1]),
        ("void", "WITHDRAWN without a byte", b""),
    ):
        yield f"withdrawn-{name}", words, draft().set(Kind.WITHDRAWN, content).file()
