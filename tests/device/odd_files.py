"""Odd vectors, withdrawn lists and catalogues, mostly with right checksums and signatures."""

import json
import struct
import zlib

import numpy as np

from elasticrec.stream.side_files import CATALOGUE_FORMAT, WithdrawnList, vector_bytes
from tests.stream.golden import KEY
from tests.stream.hostile import STRANGER

FLOATS = [0.0, -0.0, 1.0, -1.0, 1e9, 1.0001e9, 3e38, float("inf"), float("nan"), 1e-45]
WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}
ODD = [None, True, 0, -1, 1e300, "", "x", [], ["x"], {}, {"x": 1}]
"""Values that a field of a catalogue may get."""


def signer(rng):
    """Mostly the key that a reader is given, else another one, or none."""
    return KEY if rng.random() < 0.8 else (STRANGER, None)[rng.integers(2)]


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


def odd_vector(model, D, rng):
    """A vector file, mostly with something changed."""
    numbers = rng.integers(-9, 10, max(1, D)).astype(np.float16)
    out = bytearray(vector_bytes(numbers, model.hex()))
    match rng.integers(5):
        case 0:
            at = 48 + 2 * int(rng.integers(len(numbers)))
            struct.pack_into(
                "<H", out, at, [0x7BFF, 0x7C00, 0xFC00, 0x7E00, 1, 0x8000][rng.integers(6)]
            )
        case 1:
            poke(out, [8, 10][rng.integers(2)], "H", rng)
        case 2:
            del out[int(rng.integers(len(out) + 1)) :]
        case 3:
            out += bytes(int(rng.integers(1, 4)))
    return resealed(out, rng)


def odd_withdrawn(model, n_items, rng, keyed):
    """A withdrawn list, mostly with something changed."""
    items = np.unique(rng.integers(0, min(n_items, 2**20), 4))
    out = bytearray(WithdrawnList(model.hex(), items, 3).pack())
    match rng.integers(5):
        case 0:
            poke(out, 120 + 4 * int(rng.integers(len(items))), "I", rng)
        case 1:
            poke(out, [8, 10, 16][rng.integers(3)], "H", rng)
        case 2:
            del out[int(rng.integers(len(out) + 1)) :]
        case 3:
            out += out[-4:]
    key = signer(rng) if keyed else None
    if key is not None and len(out) >= 120:
        out[56:120] = key.sign(
            bytes(out[:12]) + bytes(4) + bytes(out[16:56]) + bytes(64) + bytes(out[120:])
        )
    return resealed(out, rng)


def resealed(out, rng):
    """The file with a right CRC, mostly."""
    if len(out) >= 16 and rng.random() < 0.9:
        out[12:16] = bytes(4)
        out[12:16] = struct.pack("<I", zlib.crc32(out))
    return bytes(out)


def odd_catalogue(model_id, n_items, rng):
    """A catalogue, mostly with something changed."""
    n = min(n_items, 400)
    content = {"format": CATALOGUE_FORMAT, "model_id": model_id,
               "id_kind": ["integer", "text"][rng.integers(2)],
               "ids": [str(i) for i in range(n)],
               "titles": [[None, f"é{i}", "\x00\n"][i % 3] for i in range(n)]}  # fmt: skip
    name, odd = list(content)[rng.integers(5)], ODD[rng.integers(len(ODD))]
    match rng.integers(9):
        case 0:
            content[name] = odd
        case 1:
            del content[name]
        case 2:
            content["more"] = odd
        case 3 if n:
            content[["ids", "titles"][rng.integers(2)]][rng.integers(n)] = odd
        case 4 if n:
            listed = content[["ids", "titles"][rng.integers(2)]]
            (listed.pop if rng.integers(2) else lambda: listed.append("x"))()
        case 5:
            content["titles"] = [None, "x" * n, [], {str(i): "x" for i in range(n)}][
                rng.integers(4)
            ]
        case 6:
            text = json.dumps(content)
            return _spelled(text, rng)
    text = json.dumps(content, ensure_ascii=bool(rng.integers(2)))
    return text.encode()


def _spelled(text, rng):
    """JSON as it must not be spelled, mostly."""
    at = int(rng.integers(len(text)))
    return [
        text.encode("utf-16"), text.encode("utf-8-sig"), text.replace("null", "NaN").encode(),
        text.replace("null", "-Infinity").encode(), text[:at].encode(), text.encode() + b"\xff",
        (text + "1").encode(), f"[{text}]".encode(), b"null", (text[:-1] + ",}").encode(),
        text.encode() + b" \n\t\r", b"[" * 300,
    ][rng.integers(12)]  # fmt: skip
