"""Hostile streams whose neighbours or ids break a rule."""

import struct

from elasticrec.stream.chunk import Kind
from tests.stream.damage import draft
from tests.stream.hostile import Case

V = 11
"""4 bits per neighbour number: 4 rows of 2 bytes for 11 items, then 6 bytes of votes."""


def slot(items, votes):
    """The payload of one slot: neighbour numbers of 4 bits and votes."""
    count = len(items)
    rows = bytearray()
    for bit in range(4):
        row = bytearray((count + 7) // 8)
        for i, number in enumerate(items):
            row[i // 8] |= (number >> bit & 1) << i % 8
        rows += row
    halves = [*votes, 0][: count + count % 2]
    return bytes(rows) + bytes(a | b << 4 for a, b in zip(halves[::2], halves[1::2], strict=True))


def with_slot(items, votes, which=2, first=0):
    """The sound stream and one more slot; items 0 to 4 have two, the others one."""
    made = draft()
    return made.add(Kind.NEIGHBOURS, which, first, len(items), slot(items, votes)).file()


def of_neighbours():
    strong = draft()
    chunk = strong.find(Kind.NEIGHBOURS)
    chunk.payload = slot([1] * V, [9] * V)
    later = strong.find(Kind.NEIGHBOURS, 1)
    later.payload = slot([2] * 5, [9, 9, 10, 9, 9])
    yield Case("neighbours-rise", 4, "a vote that rises from one slot to the next", strong.file())
    for name, rule, items, votes in (
        ("number", "a neighbour whose number no item has", [1] * 10 + [11], [9] * V),
        ("number-15", "a neighbour of all bits", [15] + [1] * 10, [9] * V),
        ("empty", "an empty slot that names a neighbour", [1] * V, [9] * 10 + [0]),
    ):
        made = draft()
        made.find(Kind.NEIGHBOURS).payload = slot(items, votes)
        made.find(Kind.NEIGHBOURS, 1).payload = slot([0] * 5, [0] * 5)
        yield Case(f"neighbours-{name}", 4, rule, made.file())
    for name, rule, at, value in (
        ("bit", "an unused bit that is not 0", 1, 0x08),
        ("bit-last", "the last unused bit that is not 0", 7, 0x80),
        ("half", "an unused half of a byte of votes that is not 0", 13, 0x10),
    ):
        made = draft()
        chunk = made.find(Kind.NEIGHBOURS)
        chunk.put(at, "B", chunk.payload[at] | value)
        yield Case(f"neighbours-{name}", 4, rule, made.file())
    skipped = with_slot([0], [0], which=2, first=9)
    yield Case("neighbours-skipped", 4, "slot 2 of an item that has one", skipped)
    yield Case("neighbours-twice", 4, "slot 0 of an item that has it", with_slot([0], [0], which=0))
    more = draft()
    for which in range(2, 65):
        more.add(Kind.NEIGHBOURS, which, 0, 1, slot([0], [0]))
    yield Case("neighbours-65", 4, "a 65th slot", more.file())
    early = draft()
    slots = early.chunks.pop(early.place(Kind.NEIGHBOURS))
    early.chunks.insert(early.place(Kind.IDS), slots)
    yield Case("neighbours-nameless", 5, "a slot of items that have no id yet", early.file())


def text(*ids):
    """A payload of text ids."""
    return struct.pack(f"<{len(ids)}H", *map(len, ids)) + b"".join(ids)


def with_ids(payload):
    """The sound stream with another payload of IDS."""
    made = draft()
    made.find(Kind.IDS).payload = payload
    return made.file()


def of_ids():
    good = [b"id %d" % i for i in range(V - 2)]
    for name, rule, a, b in (
        ("void", "an id without text", b"x", b""),
        ("byte", "a byte that UTF-8 does not have", b"x", b"\xff"),
        ("overlong", "a character spelled too long", b"x", b"\xc0\xaf"),
        ("surrogate", "half of a surrogate pair", b"x", b"\xed\xa0\x80"),
        ("high", "a character above U+10FFFF", b"x", b"\xf4\x90\x80\x80"),
        ("cut", "a character that is cut off at the end", b"x", b"\xe2\x82"),
        ("inside", "two ids that share a character", b"\xc3", b"\xa9"),
    ):
        yield Case(f"ids-{name}", 5, rule, with_ids(text(*good, a, b)))
    whole = text(*good, b"x", b"y")
    less, more = bytearray(whole), bytearray(whole)
    struct.pack_into("<H", less, 2 * V - 2, 0xFFFF)
    struct.pack_into("<H", more, 0, 3)
    yield Case("ids-past", 5, "an id of more bytes than its chunk has", with_ids(bytes(less)))
    yield Case("ids-left", 5, "bytes that belong to no id", with_ids(bytes(more)))
    yield Case("ids-lengths", 5, "lengths that are cut off", with_ids(whole[: 2 * V - 1]))
    which = draft()
    which.find(Kind.IDS).change(which=1)
    yield Case("ids-which", 2, "IDS whose which is not 0", which.file())
    gap = draft()
    gap.find(Kind.IDS).change(first=1, count=V - 1)
    gap.find(Kind.IDS).payload = text(*good, b"x")
    yield Case("ids-first", 5, "ids from item 1 on, item 0 has none", gap.file())
    again = draft().add(Kind.IDS, 0, 0, 1, text(b"z"))
    yield Case("ids-again", 5, "a second id of item 0", again.file())
    beyond = draft().add(Kind.IDS, 0, V, 1, text(b"z"))
    yield Case("ids-beyond", 2, f"the id of item {V}", beyond.file())
    dense = draft("dense").add(Kind.IDS, 0, 0, 1, text(b"z"))
    yield Case("ids-dense", 5, "IDS in a stream of dense ids", dense.file())
    for kind, size in (("u32", 4), ("u64", 8)):
        short = draft(kind)
        chunk = short.find(Kind.IDS)
        chunk.payload = chunk.payload[:-size]
        yield Case(f"ids-short-{kind}", 5, f"one {kind} id too few", short.file())
        same = draft(kind)
        chunk = same.find(Kind.IDS)
        chunk.payload = chunk.payload[:-size] + chunk.payload[:size]
        ask = str(int.from_bytes(chunk.payload[:size], "little"))
        yield Case(f"ids-twice-{kind}", 5, f"one {kind} id twice", same.file(), ask=ask)
    twice = with_ids(text(*good, b"x", b"x"))
    yield Case("ids-twice-text", 5, "one text id twice", twice, ask="x")
    split = draft()
    del split.chunks[3:]
    split.least_chunks = 3
    split.find(Kind.IDS).change(count=V - 1)
    split.find(Kind.IDS).payload = text(*good, b"x")
    split.add(Kind.IDS, 0, V - 1, 1, text(b"id 0"))
    twice = split.add(Kind.CODES, 0, 0, V, bytes(V)).file()
    yield Case("ids-twice-chunks", 5, "one id in two chunks", twice, ask="id 0")
