"""Mutations of a stream, some blind and some of its fields; checksums are made right again."""

import hashlib
import struct
import zlib

import numpy as np

HEAD = {  # offset: struct code
    **{8: "H", 10: "H", 12: "I", 16: "B", 17: "B", 18: "B", 19: "B", 20: "I", 24: "Q", 32: "Q"},
    **{40: "Q", 48: "Q", 120: "H", 150: "H", 152: "B", 180: "f", 184: "f", 188: "f", 192: "f"},
}
CHUNK = {0: "I", 4: "B", 5: "B", 6: "H", 8: "I", 12: "I"}
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e9, 1.0001e9, 3e38, float("inf"), float("nan"), 1e-45]
WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}


def mutated(file, rng):
    """A stream with something changed, mostly with right checksums and the right length."""
    parts = split(file)
    for _ in range(rng.integers(1, 4)):
        change = (poke_head, poke_chunk, poke_payload, resize, rearrange, blind)
        change[rng.integers(len(change))](parts, rng)
    if rng.random() < 0.8:
        struct.pack_into("<Q", parts[0], 48, sum(map(len, parts)))
    if rng.random() < 0.9:
        seal(parts)
    out = b"".join(parts)
    return out if rng.random() < 0.9 else out[: int(rng.integers(len(out) + 1))]


def split(file):
    """The head and each chunk of a sound stream."""
    ends = [276 + 8 * int.from_bytes(file[10:12], "little")]
    while ends[-1] < len(file):
        ends.append(ends[-1] + 32 + int.from_bytes(file[ends[-1] : ends[-1] + 4], "little"))
    return [bytearray(file[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def seal(parts):
    """Make links and checksums right; signatures go."""
    link = bytes(12)
    for chunk in reversed(parts[1:]):
        chunk[20:32], chunk[16:20] = link, bytes(4)
        chunk[16:20] = struct.pack("<I", zlib.crc32(chunk))
        link = hashlib.sha256(chunk).digest()[:12]
    parts[0][-80:] = link + bytes(68)
    parts[0][-4:] = struct.pack("<I", zlib.crc32(parts[0][:-4]))


def poke(part, at, code, rng):
    """Write a value that may be trouble into one field."""
    if code == "f":
        value = FLOATS[int(rng.integers(len(FLOATS)))]
    else:
        top, (old,) = 256 ** WIDTHS[code], struct.unpack_from("<" + code, part, at)
        few = int(rng.integers(min(top, 300)))
        choice = [0, 1, top - 1, top // 2, old + 1, old - 1, 2 * old, few]
        value = choice[int(rng.integers(len(choice)))] % top
    struct.pack_into("<" + code, part, at, value)


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
