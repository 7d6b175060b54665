"""The hostile bundles: each breaks one rule of the page, and keeps every other as far as it can."""

import struct

from elasticrec.bundle.header import Kind
from tests.bundle.damage import INFINITY, MOST, NAN, draft, seal, sound
from tests.bundle.hostile_content import of_codes_and_neighbours, of_floats, of_ids, of_withdrawn


def cases():
    """(name, what it teaches, bytes) of every hostile bundle."""
    yield from of_prefix()
    yield from of_cuts()
    yield from of_table()
    yield from of_shape()
    yield from of_meta()
    yield from of_groups()
    yield from of_floats()
    yield from of_codes_and_neighbours()
    yield from of_ids()
    yield from of_withdrawn()


def of_prefix():
    whole = sound()
    yield "prefix-empty", "no byte at all", b""
    yield "prefix-short", "63 bytes: the prefix is cut off", whole[:63]
    yield "prefix-alone", "64 bytes: the section table is cut off", resealed(whole[:64])
    yield "prefix-magic", "another magic, as a text-mode transfer leaves it", b"\x09" + whole[1:]
    for version in (0, 2, 65535):
        words = f"version {version}: refused by name, not read by chance"
        yield f"prefix-version-{version}", words, draft().prefix(version=version)
    yield "prefix-reserved", "a reserved byte that is not 0", draft().prefix(reserved=1)
    yield "prefix-reserved-2", "another reserved byte that is not 0", draft().prefix(reserved2=256)
    for count in (5, 12, 2**32 - 1):
        words = f"{count} sections: the table is not where the count says"
        yield f"prefix-sections-{count}", words, draft().prefix(n_sections=count)
    for name, length in (("more", len(whole) + 1), ("less", len(whole) - 1), ("wraps", MOST)):
        words = f"a length of {length} for {len(whole)} bytes"
        yield f"prefix-length-{name}", words, draft().prefix(file_bytes=length)
    yield "prefix-crc", "the checksum of the prefix is wrong", draft().prefix(crc=1)
    yield "prefix-appended", "a byte behind the end", whole + b"\0"
    longer = bytearray(whole + bytes(64))
    struct.pack_into("<Q", longer, 16, len(longer))
    yield (
        "prefix-hidden",
        "64 bytes behind the last section, and a length that says so",
        seal(longer),
    )


def of_cuts():
    """Cut inside each section, with a length that says so: a check of it alone is not enough."""
    whole = sound()
    for kind, (at, length) in draft().layout.sections.items():
        words = f"cut inside {kind.name}, and a length that says so"
        yield f"cut-{kind.name.lower()}", words, resealed(whole[: at + length // 2])


def resealed(file):
    """A cut file whose length is right."""
    file = bytearray(file)
    struct.pack_into("<Q", file, 16, len(file))
    return seal(file)


def of_table():
    layout = draft().layout.sections
    for kind in Kind:
        flipped = draft()
        at = layout[kind][0]
        file = bytearray(flipped.file())
        file[at] ^= 64
        yield f"table-crc-{kind.name.lower()}", f"a flipped bit in {kind.name}", bytes(file)
    yield "table-kind-0", "a section of kind 0", draft().table(Kind.SHAPE, kind=0)
    yield (
        "table-kind-12",
        "a section of a kind that does not exist",
        draft().table(Kind.WORDS, kind=12),
    )
    yield "table-kind-twice", "two sections of one kind", draft().table(Kind.MAP, kind=9)
    file = bytearray(draft().file())
    file[64 + 6 * 32 : 64 + 8 * 32] = (
        file[64 + 7 * 32 : 64 + 8 * 32] + file[64 + 6 * 32 : 64 + 7 * 32]
    )
    yield "table-kind-order", "two entries of the table swapped", seal(file)
    yield "table-no-shape", "SHAPE is missing", draft().set(Kind.SHAPE, None).file()
    yield "table-no-codes", "CODES are missing", draft().set(Kind.CODES, None).file()
    codes, ids = layout[Kind.CODES], layout[Kind.IDS]
    for name, words, values in (
        ("overlap", "NEIGHBOURS lie over CODES", {"offset": codes[0]}),
        (
            "unaligned",
            "an offset that is no multiple of 64",
            {"offset": layout[Kind.NEIGHBOURS][0] + 1},
        ),
        ("gap", "64 bytes that belong to no section", {"offset": layout[Kind.NEIGHBOURS][0] + 64}),
        ("outside", "an offset past the end", {"offset": len(sound()) + 64}),
        (
            "offset-wraps",
            "offset + length wraps around 2^64",
            {"offset": 2**64 - 64, "length": 128},
        ),
        ("length-wraps", "a length of 2^64 - 1", {"length": MOST}),
        ("length-huge", "a length of 2^40", {"length": 2**40}),
        ("length-more", "one byte too many", {"length": layout[Kind.NEIGHBOURS][1] + 1}),
        ("length-0", "a section without a byte", {"length": 0}),
        ("reserved", "a reserved byte that is not 0", {"reserved": 1}),
    ):
        yield f"table-{name}", words, draft().table(Kind.NEIGHBOURS, **values)
    inside = ids[0] + 64
    yield "table-inside", "WITHDRAWN lie inside IDS", draft().table(Kind.WITHDRAWN, offset=inside)
    padded = bytearray(draft().file())
    padded[codes[0] + codes[1]] = 1
    yield "table-padding", "a byte between two sections that is not 0", bytes(padded)


def of_shape():
    changes = (
        ("n_items", 0, "no items"),
        ("n_items", 12, "more items than the groups have"),
        ("n_items", 2**15, "more than 8 items per byte of the file: memory for a count alone"),
        ("n_items", 2**26 + 1, "more items than any bundle has"),
        ("n_items", 2**32 - 1, "a count whose products wrap around 2^32"),
        ("n_groups", 0, "no groups"),
        ("n_groups", 12, "more groups than items"),
        ("n_groups", 65535, "more groups than any bundle has"),
        ("n_blocks", 0, "no blocks"),
        ("n_blocks", 2, "more blocks than the sections have"),
        ("n_blocks", 257, "more blocks than any bundle has"),
        ("n_blocks", 65535, "a count of blocks whose square wraps"),
        ("block_size", 4, "blocks of 4 numbers"),
        ("id_kind", 4, "ids of no kind"),
        ("id_kind", 0, "IDS in a bundle of dense ids"),
        ("id_kind", 2, "strings called 64-bit numbers"),
        ("person", 2, "a person of no kind"),
        ("by_root", 2, "a vote scale of no kind"),
        ("n_lists", 0, "WORDS in a bundle that has no list of them"),
        ("n_lists", 2, "more lists of words than blocks"),
        ("n_lists", 65535, "more lists of words than any bundle has"),
        ("reserved", 1, "a reserved byte that is not 0"),
        ("reserved2", MOST, "more reserved bytes that are not 0"),
        ("trained", 253_402_300_800, "a training in the year 10000"),
        ("trained", MOST, "a date that no signed number holds"),
    )
    for name, value, words in changes:
        yield named("shape", name, value), words, draft().put("shape", name, value).file()
    short = draft()
    yield "shape-short", "SHAPE of 63 bytes", short.set(Kind.SHAPE, short[Kind.SHAPE][:63]).file()


def of_meta():
    for name, words, content in (
        ("text", "META is no JSON", b"a bundle".ljust(512)),
        ("list", "META is JSON, but no object", b"[1, 2]".ljust(512)),
        ("nan", "NaN, which some readers take for JSON", b'{"quality": NaN}'.ljust(512)),
        ("utf8", "META is no UTF-8", b'{"name": "\xff\xfe"}'.ljust(512)),
        ("bom", "a byte order mark, which some readers swallow", b"\xef\xbb\xbf{}".ljust(512)),
        ("zeros", "padded with zeros instead of spaces", b"{}".ljust(512, b"\0")),
        ("nesting", "512 brackets: deep recursion", b"[" * 512),
        ("short", "META of 511 bytes", b"{}".ljust(511)),
    ):
        yield f"meta-{name}", words, draft().set(Kind.META, content).file()


def of_groups():
    for name, value, words in (
        ("size", 0, "an empty group"),
        ("size", 6, "sizes that sum to one item more"),
        ("size", 2**32 - 1, "a size near 2^32"),
        ("neighbours", 3, "more neighbours than the section has"),
        ("neighbours", 65, "65 neighbours per item"),
        ("neighbours", 255, "255 neighbours per item"),
        ("reserved", 1, "a reserved byte that is not 0"),
        ("by_vector", NAN, "a vote weight that is NaN"),
        ("by_vector", -0.5, "a negative vote weight"),
        ("by_history", INFINITY, "an infinite vote weight"),
        ("by_history", 1.5e6, "a vote weight above 10^6"),
    ):
        written = draft().put("group", name, value).file()
        yield named("groups", name, value), words, written
    wraps = draft().put("group", "size", 2**32 - 1).put("group", "size", 12, at=16)
    yield "groups-sizes-wrap", "sizes whose 32-bit sum is right, and whose sum is not", wraps.file()
    for depth in (9, 255):
        deeper = draft().pack(Kind.GROUPS, "B", 32, depth).file()
        yield f"groups-depth-{depth}", f"depth {depth}", deeper
    deeper = draft().pack(Kind.GROUPS, "B", 32, 3).file()
    yield "groups-deeper", "a depth of more planes than CODES has", deeper


def named(section, name, value):
    """The name of the file in which one field has one value."""
    shown = "most" if value == MOST else value
    return f"{section}-{name}-{shown}".replace("_", "-").replace("--", "-minus-")
