"""Hostile streams whose chunks, codebooks, columns or codes break a rule."""

import struct

from elasticrec.stream.chunk import Kind
from tests.stream.damage import INFINITY, NAN, draft
from tests.stream.hostile import Case

V = 11


def of_chunks():
    for kind in Kind:
        name = kind.name.lower()
        flipped = draft()
        flipped.find(kind).flipped = True
        yield Case(f"chunk-crc-{name}", 2, f"a flipped bit in {kind.name}", flipped.file())
        for extra, shown in ((-1, "short"), (1, "long")):
            other = draft()
            chunk = other.find(kind)
            chunk.payload = chunk.payload[:-1] if extra < 0 else chunk.payload + b"\0"
            rule = f"{kind.name} {'lacks a byte' if extra < 0 else 'has a byte too many'}"
            yield Case(f"chunk-{shown}-{name}", 2, rule, other.file())
        void = draft()
        void.add(kind, 0, 0, 0, b"", width=kind == Kind.CODEBOOK)
        yield Case(f"chunk-count-{name}", 2, f"{kind.name} of count 0", void.file())
        if kind != Kind.CODEBOOK:
            yield Case(f"chunk-width-{name}", 2, f"{kind.name} has a width", changed(kind, width=1))
    for value in (0, 6, 255):
        rule = f"a chunk of kind {value}"
        yield Case(f"chunk-kind-{value}", 2, rule, changed(Kind.CODES, kind=value))
    for kind in (Kind.CODES, Kind.NEIGHBOURS):
        name = kind.name.lower()
        yield Case(f"chunk-past-{name}", 2, f"{kind.name} of item {V}", changed(kind, first=1))
        far = changed(kind, first=2**32 - 1)
        yield Case(f"chunk-wraps-{name}", 2, f"{kind.name} whose first + count wraps", far)
    empty = draft().add(Kind.CODES, 0, 0, 2**32 - 1, b"")
    yield Case("chunk-count-most", 2, "CODES of 2^32 - 1 items without a byte", empty.file())
    yield Case("chunk-many", 2, "more than 1,024 chunks in too few bytes", of_one_item_each())
    before = draft().file()[:1125]
    rule = "a prefix that ends before least"
    yield Case("chunk-least", 2, rule, before, names=("1126",))


def of_one_item_each():
    """Columns of the dense stream, given to one item at a time."""
    many = draft("dense")
    del many.chunks[3:]
    many.least_chunks = 3
    many.find(Kind.CODEBOOK).change(width=1)
    many.find(Kind.CODEBOOK).payload = bytes(32 * 8)
    entries = struct.pack("<HHHHff", 0, 0, 1, 32768, 0.5, 0.5) * 99
    many.add(Kind.COLUMNS, 1, 0, 99, entries)
    for column in range(1, 100):
        for item in range(V):
            many.add(Kind.CODES, column, item, 1, b"\x21")
    return many.file()


def changed(chunk_kind, nth=0, /, **fields):
    """The sound stream with other header fields in one chunk."""
    made = draft()
    made.find(chunk_kind, nth).change(**fields)
    return made.file()


def of_codebooks():
    for name, rule, nth, fields in (
        ("which-next", "codebook 2 after codebook 0", 1, {"which": 2}),
        ("which-again", "codebook 0 begins again", 1, {"which": 0}),
        ("first-gap", "codewords that begin with the second", 0, {"first": 1, "count": 31}),
        ("first-twice", "codewords that come again", 2, {"first": 0}),
        ("first-past", "codewords past the 32nd", 2, {"first": 17}),
        ("first-most", "first + count wraps around 2^32", 2, {"first": 2**32 - 16}),
        ("width-0", "codewords of no block", 1, {"width": 0}),
        ("width-other", "a codebook of two widths", 2, {"width": 2, "count": 8}),
    ):
        made = draft()
        chunk = made.find(Kind.CODEBOOK, nth)
        chunk.change(**fields)
        if name == "width-0":
            chunk.payload = b""
        if name == "first-gap":
            chunk.payload = chunk.payload[16:]
        yield Case(f"codebook-{name}", 3, rule, made.file())
    wide = draft()
    wide.add(Kind.CODEBOOK, 2, 0, 32, bytes(32 * 24), width=3)
    yield Case("codebook-wide", 3, "codewords of more blocks than the stream has", wide.file())
    early = draft()
    del early.chunks[early.place(Kind.CODEBOOK, 2) :]
    early.add(Kind.CODEBOOK, 2, 0, 32, bytes(256), width=1)
    rule = "a codebook begins before the one before it is complete"
    yield Case("codebook-early", 3, rule, early.file())
    more = draft("dense")
    del more.chunks[4:]
    more.least_chunks = 3
    for number in range(1, 65):
        more.add(Kind.CODEBOOK, number, 0, 32, bytes(256), width=1)
    yield Case("codebook-65", 3, "a 65th codebook", more.file())


def of_columns():
    for name, rule, nth, at, code, value in (
        ("codebook", "a codebook that has not come", 0, 0, "H", 1),
        ("codebook-most", "codebook 65535", 1, 0, "H", 65535),
        ("block", "blocks past the last one", 0, 2, "H", 1),
        ("block-most", "first block + width wraps around 2^16", 1, 2, "H", 65535),
        ("scale-0", "scale 0", 0, 4, "H", 0),
        ("scale-16385", "scale 16,385", 0, 4, "H", 16_385),
        ("scale-sum", "scales over a block that sum to 16,385", 1, 20, "H", 16_285),
        ("gain-0", "gain 0", 0, 6, "H", 0),
        ("gain-32769", "gain 32,769 of the second column that a chunk opens", 1, 22, "H", 32_769),
        ("gain-most", "gain 65,535", 1, 6, "H", 65_535),
        *(
            (f"weight-{at}-{value}", f"vote weight {value}", 0, at, "f", value)
            for at in (8, 12)
            for value in (NAN, INFINITY, -0.5, 1.1e9)
        ),
    ):
        made = draft()
        made.find(Kind.COLUMNS, nth).put(at, code, value)
        yield Case(f"columns-{name}".replace("--", "-minus-"), 3, rule, made.file())
    skipped = changed(Kind.COLUMNS, 1, which=2)
    yield Case("columns-which-next", 3, "columns from 2, of which one is open", skipped)
    again = changed(Kind.COLUMNS, 1, which=0)
    yield Case("columns-which-again", 3, "column 0 is opened again", again)
    yield Case("columns-first", 2, "COLUMNS whose first is not 0", changed(Kind.COLUMNS, first=1))
    early = draft()
    second = early.chunks.pop(early.place(Kind.CODEBOOK, 2))
    early.chunks.insert(early.place(Kind.COLUMNS, 1) + 1, second)
    yield Case("columns-early", 3, "a column of an incomplete codebook", early.file())
    more = draft()
    entries = struct.pack("<HHHHff", 1, 0, 1, 32768, 0.5, 0.5) * 1022
    more.add(Kind.COLUMNS, 3, 0, 1022, entries)
    yield Case("columns-1025", 3, "a 1,025th column", more.file())
    wide = draft()
    wide.add(Kind.COLUMNS, 3, 0, 32, struct.pack("<HHHHff", 0, 0, 1, 32768, 0.5, 0.5) * 32)
    yield Case("columns-wide", 3, "widths of two blocks that, less 1, sum to 33", wide.file())


def of_codes():
    closed = changed(Kind.CODES, 1, which=3)
    yield Case("codes-closed", 3, "a column that is not open", closed)
    yield Case(
        "codes-skipped", 3, "column 2 of items that have one", changed(Kind.CODES, 1, which=2)
    )
    twice = draft().add(Kind.CODES, 0, 4, 1, b"\0")
    yield Case("codes-twice", 3, "column 0 of an item that has it", twice.file())
    partly = draft().add(Kind.CODES, 2, 6, 5, bytes(5))
    yield Case("codes-partly", 3, "a column of five items, one of which has it", partly.file())
    early = draft()
    ids = early.chunks.pop(early.place(Kind.IDS))
    early.chunks.insert(early.place(Kind.CODES) + 1, ids)
    yield Case("codes-nameless", 5, "a column of items that have no id yet", early.file())
