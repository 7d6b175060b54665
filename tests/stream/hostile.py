"""The hostile files: each breaks one rule of the page and keeps the others as far as it can."""

import struct
import zlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from elasticrec.stream.chunk import Kind
from tests.stream.damage import INFINITY, NAN, draft, sound

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(32))


@dataclass(frozen=True)
class Case:
    """One hostile file."""

    name: str
    section: int
    """The section of the page whose rule it breaks."""
    rule: str
    data: bytes
    kind: str = "stream"
    """`stream`, `vector`, `withdrawn` or `catalogue`."""
    names: tuple = ()
    """Texts that the error must contain, because the page says so."""
    key: bool = False
    """Refused by a reader that is given the key."""
    ask: str | None = None
    """May be refused only when this id is looked up."""


def of_head():
    whole, end = sound(), 292
    yield Case("head-empty", 1, "no byte at all", b"")
    yield Case("head-short", 1, "9 bytes", whole[:9])
    yield Case("head-cut", 1, "the head lacks its last byte", whole[: end - 1])
    crc = bytearray(whole)
    crc[end - 1] ^= 1
    yield Case("head-crc", 1, "a wrong CRC", bytes(crc))
    flipped = bytearray(whole)
    flipped[60] ^= 1
    yield Case("head-flipped", 1, "a flipped bit in the model id", bytes(flipped))
    text_mode = b"\x09ELASTIC"
    yield Case("head-magic", 1, "another magic", draft().set(magic=text_mode).file())
    for version in (0, 3, 5, 65535):
        file = draft().set(version=version).file()
        rule = f"version {version} is refused by name"
        yield Case(f"head-version-{version}", 1, rule, file, names=(str(version),))
    for name, value, rule in (
        ("n_blocks", 0, "no blocks"),
        ("n_blocks", 65, "65 blocks"),
        ("n_blocks", 65535, "more blocks than the head has bytes for"),
        ("n_items", 0, "no items"),
        ("n_items", 10, "fewer items than a chunk names"),
        ("n_items", 2**26 + 1, "more than 2^26 items"),
        ("n_items", 2**32 - 1, "a count whose products wrap around 2^32"),
        ("id_kind", 0, "IDS in a stream of dense ids"),
        ("id_kind", 2, "text called 64-bit numbers"),
        ("id_kind", 4, "ids of no kind"),
        ("score", 2, "a score of no kind"),
        ("person", 2, "a person of no kind"),
        ("reserved", 1, "a reserved byte that is not 0"),
        ("reserved", 2**31, "another reserved byte that is not 0"),
        ("trained", 253_402_300_800, "a training in the year 10000"),
        ("trained", 2**64 - 1, "a date that no signed number holds"),
        ("least", 0, "least 0"),
        ("least", end, "least before the first chunk"),
        ("least", 1000, "least inside a chunk"),
        ("length", 2**40 + 1, "a stream longer than 2^40 bytes"),
        ("length", 2**64 - 1, "a length of 2^64 - 1"),
        ("vote_0", 1, "empty slots that vote"),
        ("vote_14", 65535, "a value of votes that falls"),
        *(
            (name, value, f"{name}: {value}")
            for name in ("unit", "recency", "weight_history", "weight_vector")
            for value in (NAN, INFINITY, -1.0, 1.1e9)
        ),
    ):
        shown = f"head-{name}-{value}".replace("_", "-").replace("--", "-minus-")
        yield Case(shown, 1, rule, draft().set(**{name: value}).file())
    many = draft("dense")
    many.chunks = [chunk for chunk in many.chunks if chunk.header.kind != Kind.NEIGHBOURS]
    many.least_chunks = 3
    file = many.set(n_items=928).file()
    yield Case("head-n-items-most", 1, "more items than least: memory for nothing", file)


def of_length():
    whole = sound()
    yield Case("length-appended", 2, "a byte after length", whole + b"\0")
    yield Case("length-less", 2, "length before the last chunk's end", whole_with(len(whole) - 1))
    more = whole_with(len(whole) + 10) + bytes(10)
    yield Case("length-left", 2, "10 bytes between the last chunk and length", more)
    begun = whole_with(len(whole) + 31)
    yield Case("length-begun", 2, "a chunk that starts 31 bytes before length", begun + b"\x01")
    later = draft()
    later.least_chunks = len(later.chunks)
    past = later.set(least=len(whole) + 1).file()
    yield Case("length-least", 2, "least after length", past)
    for name, extra in (("one", 1), ("most", None)):
        longer = draft()
        last = longer.chunks[-1]
        last.length = 2**32 - 1 if extra is None else len(last.payload) + extra
        rule = f"the last chunk ends {'far' if extra is None else 'a byte'} after length"
        yield Case(f"length-chunk-{name}", 2, rule, longer.file())
    cut = longer.file()[:-5]
    yield Case("length-incomplete", 2, "an incomplete chunk whose header passes length", cut)


def whole_with(length):
    """The sound stream with another length in its head."""
    return draft().set(length=length).file()


def of_authenticity():
    unsigned = draft()
    unsigned.key = None
    yield Case("key-unsigned", 12, "a head without a signature", unsigned.file(), key=True)
    stranger = draft()
    stranger.key = STRANGER
    yield Case("key-stranger", 12, "a head signed by another key", stranger.file(), key=True)
    late = bytearray(draft().set(trained=1_700_000_001).file())
    late[224:288] = sound()[224:288]
    late[288:292] = struct.pack("<I", zlib.crc32(bytes(late[:288])))
    yield Case("key-changed", 12, "a date changed after signing", bytes(late), key=True)
    first = draft()
    first.link = bytes(12)
    yield Case("key-link-head", 12, "the head's link is another", first.file(), key=True)
    for number in range(len(draft().chunks)):
        broken = draft()
        broken.chunks[number].link = b"\x01" * 12
        last = number == len(broken.chunks) - 1
        rule = "the last chunk has a link" if last else f"the link of chunk {number} is another"
        yield Case(f"key-link-{number}", 12, rule, broken.file(), key=True)
    other = draft()
    other.find(Kind.CODES, 1).put(0, "B", 1)
    spliced = sound()[:292] + other.file()[292:]
    yield Case("key-spliced", 12, "the chunks of another stream", spliced, key=True)
