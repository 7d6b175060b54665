"""Damaged streams with right checksums: both runtimes refuse them, or give the same lists."""

import hashlib
import importlib.util
import json
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

DEVICE = Path(__file__).resolve().parents[2] / "device"
GOLDEN = ["dense", "u32", "u64", "text", "single", "neighbours", "ties", "small"]
MUTATIONS = 400
ODD = [0, 1, 2, 15, 64, 255, 65535, 2**26, 2**31 - 1, 2**31, 2**32 - 1]


def parts_of(file):
    """The head and the chunks of a sound stream."""
    ends = [276 + 8 * int.from_bytes(file[10:12], "little")]
    while ends[-1] < len(file):
        ends.append(ends[-1] + 32 + int.from_bytes(file[ends[-1] : ends[-1] + 4], "little"))
    return [bytearray(file[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def sealed(parts):
    """The file of a head and chunks whose links and checksums are made right."""
    link = bytes(12)
    for chunk in reversed(parts[1:]):
        chunk[20:32], chunk[16:20] = link, bytes(4)
        chunk[16:20] = struct.pack("<I", zlib.crc32(chunk))
        link = hashlib.sha256(chunk).digest()[:12]
    head = parts[0]
    head[-80:] = link + bytes(68)
    head[-4:] = struct.pack("<I", zlib.crc32(head[:-4]))
    return b"".join(parts)


def poke(part, end, rng):
    """Change a bit, a byte or a field of four bytes."""
    at = int(rng.integers(end))
    place = min(at & ~3, len(part) - 4)
    match rng.integers(4):
        case 0:
            part[at] ^= 1 << int(rng.integers(8))
        case 1:
            part[at] = int(rng.integers(256))
        case 2:
            struct.pack_into("<I", part, place, ODD[int(rng.integers(len(ODD)))])
        case 3:
            value = struct.unpack_from("<I", part, place)[0] + int(rng.integers(-2, 3))
            struct.pack_into("<I", part, place, value % 2**32)


def mutated(file, rng):
    """The stream with something changed."""
    parts = parts_of(file)
    i = int(rng.integers(1, len(parts)))
    match rng.integers(7):
        case 0:
            poke(parts[0], 196, rng)
        case 1 | 2:
            poke(parts[i], 16, rng)
        case 3 | 4:
            poke(parts[i], len(parts[i]), rng)
        case 5:
            del parts[i]
        case 6:
            parts.insert(int(rng.integers(1, len(parts))), parts[i][:])
    if rng.integers(3):
        struct.pack_into("<Q", parts[0], 48, sum(map(len, parts)))
    out = sealed(parts)
    return out if rng.integers(4) else out[: int(rng.integers(len(out) + 1))]


def python_runtime():
    """The Python runtime, from its file."""
    name = "elasticrec_device"
    spec = importlib.util.spec_from_file_location(name, DEVICE / "python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def verdict(device, file):
    """What the Python runtime says of a file, as `verdicts.js` does."""

    def plain(found):
        items = [
            [str(item.id), item.score, None if item.why is None else str(item.why)]
            for item in found
        ]
        return {"items": items, "unknown": found.unknown}

    try:
        with device.open(file) as stream:
            about = stream.info()
            first = stream.recommend(k=5, why=True)
            history = [item.id for item in first][:3]
            history += ["nobody" if about["ids"] == "text" else 2**40, *history[:1]]
            second = stream.recommend(history, k=8, why=True, repeat=True)
            return [plain(first), plain(second), about["bytes"]]
    except device.StreamError:
        return "refused"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_both_runtimes_say_the_same_of_damaged_streams():
    golden = [(DEVICE / "conformance" / f"{name}.elastic").read_bytes() for name in GOLDEN]
    files = list(golden)
    for number in range(MUTATIONS):
        rng = np.random.default_rng([7, number])
        files.append(bytes(mutated(golden[int(rng.integers(len(golden)))], rng)))
    ran = subprocess.run(
        ["node", str(DEVICE / "js" / "testing" / "verdicts.js")],
        input=b"".join(struct.pack("<I", len(file)) + file for file in files),
        capture_output=True,
        check=True,
        timeout=120,
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(said) == len(files)
    device = python_runtime()
    for number, (file, found) in enumerate(zip(files, said, strict=True)):
        assert found == verdict(device, file), f"mutation {number - len(golden)}"
    refused = said.count("refused")
    assert len(golden) + MUTATIONS // 20 < len(said) - refused
    assert refused > MUTATIONS // 4
