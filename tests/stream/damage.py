"""Bundles with one thing wrong: sections to change, and checksums that are right all the same."""

import struct
import zlib
from functools import cache

from elasticrec.bundle.header import ENTRY, GROUP, PREFIX, SHAPE, Kind, Layout, assemble
from tests.bundle.golden import Case, bundle

SOUND = Case(
    "sound",
    "a bundle with every section, which opens",
    (5, 6),
    ((2,), (1,)),
    (2, 1),
    ids="strings",
    withdrawn=(3, 7),
    with_map=True,
    lists=1,
)
NAN, INFINITY, MOST = float("nan"), float("inf"), 2**64 - 1
RECORDS = {"prefix": PREFIX, "entry": ENTRY, "shape": SHAPE, "group": GROUP}


def field(record, name):
    """One field of a record."""
    return next(each for each in RECORDS[record] if each.name == name)


def put(part, record, name, value, at=0):
    """Write one field of a record that starts at `at`, whatever its limits."""
    found = field(record, name)
    struct.pack_into("<" + found.code, part, at + found.offset, value)


def seal(file):
    """The file with all checksums right, as far as its section table can be followed."""
    file = bytearray(file)
    if len(file) < 64:
        return bytes(file)
    n_sections = min(struct.unpack_from("<I", file, 12)[0], len(Kind), (len(file) - 64) // 32)
    for number in range(n_sections):
        at = 64 + 32 * number
        offset, length = struct.unpack_from("<QQ", file, at + 8)
        put(file, "entry", "crc", zlib.crc32(file[offset : offset + length]), at)
    put(file, "prefix", "crc", 0)
    put(file, "prefix", "crc", zlib.crc32(file[: 64 + 32 * n_sections]))
    return bytes(file)


class Draft:
    """A sound bundle taken apart: change its sections, then ask for the file."""

    def __init__(self, file):
        layout = Layout.of(file)
        self.model_id = layout.model_id
        self.layout = layout
        self.sections = {
            kind: bytearray(file[at : at + length])
            for kind, (at, length) in layout.sections.items()
        }

    def __getitem__(self, kind):
        return self.sections[kind]

    def put(self, record, name, value, at=0):
        """Write one field of SHAPE or of an entry of GROUPS."""
        put(self[Kind.SHAPE if record == "shape" else Kind.GROUPS], record, name, value, at)
        return self

    def pack(self, kind, code, at, value):
        """Write one number into a section."""
        struct.pack_into("<" + code, self[kind], at, value)
        return self

    def set(self, kind, content):
        """Give a section another content; None takes it away."""
        self.sections[kind] = content
        if content is None:
            del self.sections[kind]
        return self

    def file(self):
        """The whole file, laid out and with checksums as the writer would."""
        return assemble(self.model_id, {kind: bytes(part) for kind, part in self.sections.items()})

    def table(self, kind, /, **values):
        """The whole file with some fields of one section's table entry changed."""
        file = bytearray(self.file())
        at = 64 + 32 * sorted(self.sections).index(kind)
        for name, value in values.items():
            put(file, "entry", name, value, at)
        return seal(file)

    def prefix(self, **values):
        """The whole file with some fields of its prefix changed."""
        file = bytearray(self.file())
        for name, value in values.items():
            put(file, "prefix", name, value)
        return bytes(file) if "crc" in values else seal(file)


@cache
def sound():
    """The bytes of the sound bundle."""
    return bundle(SOUND)[0]


def draft():
    """A fresh draft of it."""
    return Draft(sound())
