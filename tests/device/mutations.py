"""Mutations of streams and of the files beside them; checksums and signatures are made right again.

Case number i of a seed depends on both alone. Some changes are blind, most aim at a field.
"""

import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.device.odd_files import odd_catalogue, odd_vector, odd_withdrawn, poke, signer
from tests.stream.golden import KEY

GOLDEN = Path(__file__).resolve().parents[2] / "device" / "conformance"
NAMES = ("dense", "neighbours", "small", "text", "u32", "u64", "single", "signed", "ties")
"""Golden streams that are changed."""
HEAD = {  # offset: struct code
    **{8: "H", 10: "H", 12: "I", 16: "B", 17: "B", 18: "B", 19: "B", 20: "I", 24: "Q", 32: "Q"},
    **{40: "Q", 48: "Q", 120: "H", 150: "H", 152: "B", 180: "f", 184: "f", 188: "f", 192: "f"},
}
CHUNK = {0: "I", 4: "B", 5: "B", 6: "H", 8: "I", 12: "I"}


@dataclass
class Case:
    """A stream and the files beside it; empty ones are not given."""

    stream: bytes
    cut: int = 0
    """Bytes that are opened first, before the rest arrives; 0: all at once."""
    sequence: int = 0
    """The smallest sequence number that is taken."""
    key: bytes = b""
    vector: bytes = b""
    withdrawn: bytes = b""
    catalogue: bytes = b""

    def pack(self):
        """The case as `verdicts` programs read it."""
        files = (self.key, self.stream, self.vector, self.withdrawn, self.catalogue)
        head = struct.pack("<IQ5I", self.cut, self.sequence, *map(len, files))
        return head + b"".join(files)


def golden():
    """Names and bytes of the streams that are changed."""
    return {name: (GOLDEN / f"{name}.elastic").read_bytes() for name in NAMES}


def case(files, seed, number):
    """The case of a seed and a number."""
    rng = np.random.default_rng([seed, number])
    name = NAMES[int(rng.integers(len(NAMES)))]
    parts = split(files[name])
    model, n_items = bytes(parts[0][56:88]), int.from_bytes(parts[0][12:16], "little")
    keyed, beside = rng.random() < 0.15, rng.random() < 0.3
    catalogue = odd_catalogue(model.hex(), n_items, rng) if beside else b""
    if catalogue and rng.random() < 0.9:
        parts[0][88:120] = hashlib.sha256(catalogue).digest()
    for _ in range(int(rng.choice(4, p=(0.1, 0.5, 0.25, 0.15)))):
        change = CHANGES[rng.integers(len(CHANGES))]
        change(parts, rng)
    if rng.random() < 0.8:
        struct.pack_into("<Q", parts[0], 48, sum(map(len, parts)))
    if rng.random() < 0.9:
        seal(parts, signer(rng) if keyed else None)
    if keyed and rng.random() < 0.2:  # a chunk of another stream, sound by itself
        poke_payload(parts, rng)
        checksum(parts[int(rng.integers(1, len(parts)))])
    out = b"".join(parts)
    out = out if rng.random() < 0.9 else out[: int(rng.integers(len(out) + 1))]
    made = Case(
        bytes(out), catalogue=catalogue, key=KEY.public_key().public_bytes_raw()[: 32 * keyed]
    )
    if rng.random() < 0.3:
        made.cut = int(rng.integers(1, len(out) + 1)) if out else 0
    if rng.random() < 0.1:
        made.sequence = [1, 7, 8, 2**53 + 1, 2**64 - 1][rng.integers(5)]
    if beside:
        made.vector = odd_vector(model, (len(parts[0]) - 276), rng)
        made.withdrawn = odd_withdrawn(model, n_items, rng, keyed)
    return made


def split(file):
    """The head and each chunk of a sound stream."""
    ends = [276 + 8 * int.from_bytes(file[10:12], "little")]
    while ends[-1] < len(file):
        ends.append(ends[-1] + 32 + int.from_bytes(file[ends[-1] : ends[-1] + 4], "little"))
    return [bytearray(file[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def checksum(chunk):
    """Make the CRC of a chunk right."""
    chunk[16:20] = bytes(4)
    chunk[16:20] = struct.pack("<I", zlib.crc32(chunk))


def seal(parts, key=None):
    """Make links, checksums and signature right; without a key the head is not signed."""
    link = bytes(12)
    for chunk in reversed(parts[1:]):
        chunk[20:32] = link
        checksum(chunk)
        link = hashlib.sha256(chunk).digest()[:12]
    parts[0][-80:] = link + bytes(68)
    if key is not None:
        parts[0][-68:-4] = key.sign(bytes(parts[0][:-68]))
    parts[0][-4:] = struct.pack("<I", zlib.crc32(parts[0][:-4]))


def poke_head(parts, rng):
    at = list(HEAD)[int(rng.integers(len(HEAD)))]
    poke(parts[0], at, HEAD[at], rng)


def poke_chunk(parts, rng):
    part, at = parts[int(rng.integers(1, len(parts)))], list(CHUNK)[int(rng.integers(len(CHUNK)))]
    poke(part, at, CHUNK[at], rng)


def poke_payload(parts, rng):
    part = parts[int(rng.integers(1, len(parts)))]
    if len(part) > 32:
        code = "BHIf"[int(rng.integers(4))]
        at = int(rng.integers(32, len(part)))
        if at + struct.calcsize(code) <= len(part):
            poke(part, at, code, rng)


def resize(parts, rng):
    """Another payload, and a header that says its length and perhaps another count."""
    part = parts[int(rng.integers(1, len(parts)))]
    (old,) = struct.unpack_from("<I", part, 12)
    count = max(1, int(old * rng.choice([0.5, 1, 2])) + int(rng.integers(-1, 2))) % 2**32
    length = int((len(part) - 32) * count / old) if old else len(part)
    if length < 10**5:
        more = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        part[32:] = (bytes(part[32:]) + more)[:length]
        struct.pack_into("<I", part, 0, length)
        struct.pack_into("<I", part, 12, count)


def rearrange(parts, rng):
    """A chunk twice, in another place, or gone."""
    part = parts[int(rng.integers(1, len(parts)))]
    if rng.integers(3) and len(parts) > 2:
        parts.remove(part)
    if rng.integers(2):
        parts.insert(int(rng.integers(1, len(parts) + 1)), bytearray(part))


def blind(parts, rng):
    """Some bytes of a part flipped or overwritten."""
    part = parts[int(rng.integers(len(parts)))]
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(part)))
        if rng.integers(2):
            part[at] ^= 1 << int(rng.integers(8))
        else:
            part[at : at + 4] = rng.bytes(len(part[at : at + 4]))


def odd_ids(parts, rng):
    """An id twice, of length 0, or the last one gone while its length stays."""
    chunks = [part for part in parts[1:] if part[4] == 5 and len(part) > 40]
    if not chunks:
        return
    part, kind = chunks[int(rng.integers(len(chunks)))], parts[0][16]
    width, count = (0, 4, 8, 2)[kind % 4], int.from_bytes(part[12:16], "little")
    a, b = (32 + width * int(n) for n in rng.integers(0, max(1, count), 2))
    part[a : a + width] = part[b : b + width]  # of texts: the length of another one
    if kind == 3 and rng.integers(2):
        at = 30 + 2 * count
        size = int.from_bytes(part[at : at + 2], "little")
        part[at : at + 2] = bytes(2)
        if rng.integers(2) and len(part) - size > 32:
            del part[len(part) - size :]
            struct.pack_into("<I", part, 0, len(part) - 32)


CHANGES = (poke_head, poke_chunk, poke_payload, resize, rearrange, blind, odd_ids)
