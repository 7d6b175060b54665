"""Streams of random codes and neighbours of any size, made fast, for benchmarks."""

from __future__ import annotations

import hashlib
import struct
import zlib

import numpy as np

from elasticrec.compression.config import CompressionConfig

N_BLOCKS, SLOTS = 16, 24
"""Blocks of 8 numbers, and most slots."""
MODEL_ID = bytes(range(32))
SHARE = 0.35
"""How much of an item's bytes goes to neighbours, about."""

Chunk = tuple[int, int, int, int, int, bytes]


def make_stream(
    n_items: int, bytes_per_item: float, *, piece_bytes: int = 8192, seed: int = 0
) -> tuple[bytes, bytes]:
    """A stream with as many wide columns as the default has, and a person's vector for it.

    Args:
        piece_bytes: bytes of CODES or NEIGHBOURS in one chunk, about.
    """
    rng = np.random.default_rng(seed)
    bits = max(1, (n_items - 1).bit_length())
    slots = min(SLOTS, round(SHARE * bytes_per_item / ((bits + 4) / 8)))
    columns = max(1, round(bytes_per_item - slots * (bits + 4) / 8))
    residual = CompressionConfig().residual_columns(n_items, 8 * N_BLOCKS)
    chunks: list[Chunk] = []
    for number in range(residual + 1):
        width = N_BLOCKS if number < residual else 1
        raw = rng.integers(-128, 128, 32 * 8 * width).astype(np.int8).tobytes()
        chunks.append((1, width, number, 0, 32, raw))
    entries = []
    for c in range(columns):
        codebook, block = (c, 0) if c < residual else (residual, (c - residual) % N_BLOCKS)
        scale, gain = max(1, 40 >> c // 4), min(32_768, 9000 + 250 * c)
        entries.append(struct.pack("<4H2f", codebook, block, scale, gain, 0.4, 0.2))
    chunks.append((2, 0, 0, 0, columns, b"".join(entries)))
    step = max(16, piece_bytes)
    for c in range(columns):
        for first in range(0, n_items, step):
            n = min(step, n_items - first)
            chunks.append((3, 0, c, first, n, rng.bytes(n)))
    step = max(16, round(piece_bytes / ((bits + 4) / 8)))
    for slot in range(slots):
        for first in range(0, n_items, step):
            n = min(step, n_items - first)
            near = (n_items * rng.random(n) ** 2).astype(np.uint32)  # popular ones are frequent
            votes = np.full(n, 15 - slot // 2)
            chunks.append((4, 0, slot, first, n, slot_payload(near, votes, n_items)))
    person = rng.standard_normal(8 * N_BLOCKS).astype("<f2").tobytes()
    start = struct.pack("<8sHH", b"\x89ELVECTO", 2, 8 * N_BLOCKS)
    crc = struct.pack("<I", zlib.crc32(start + bytes(4) + MODEL_ID + person))
    return seal(n_items, chunks), start + crc + MODEL_ID + person


def slot_payload(numbers: np.ndarray, votes: np.ndarray, n_items: int) -> bytes:
    """One slot of some items: neighbours (uint32) and votes."""
    bits = max(1, (n_items - 1).bit_length())
    rows = [(numbers >> np.uint32(8 * f)).astype(np.uint8).tobytes() for f in range(bits // 8)]
    for bit in range(bits // 8 * 8, bits):
        rows.append(np.packbits(numbers >> np.uint32(bit) & 1, bitorder="little").tobytes())
    pairs = np.pad(votes, (0, len(votes) % 2)).reshape(-1, 2).astype(np.uint8)
    return b"".join(rows) + (pairs[:, 0] | pairs[:, 1] << 4).tobytes()


def seal(n_items: int, chunks: list[Chunk], *, id_kind: int = 0) -> bytes:
    """The bytes of a stream of chunks: kind, width, which, first, count, payload."""
    out, link = [], bytes(12)
    for kind, width, which, first, count, raw in reversed(chunks):
        start = struct.pack("<IBBHII", len(raw), kind, width, which, first, count)
        crc = zlib.crc32(raw, zlib.crc32(start + bytes(4) + link))
        out.append(start + struct.pack("<I", crc) + link + raw)
        link = hashlib.sha256(out[-1]).digest()[:12]
    ends = (276 + 8 * N_BLOCKS + np.cumsum([len(chunk) for chunk in reversed(out)])).tolist()
    length, least = ends[-1], next(end for end in ends if n_items <= end)
    head = struct.pack("<8sHHIBBBBI", b"\x89ELASTIC", 4, N_BLOCKS, n_items, id_kind, 1, 0, 5, 0)
    head += struct.pack("<4Q", 1, 1767312000, least, length) + MODEL_ID + bytes(32)
    head += struct.pack("<16H", *(i * i * 100 for i in range(16))) + bytes((128,) * 28)
    head += struct.pack("<4f", 20_000, 0.05, 0.5, 0.25) + bytes(8 * N_BLOCKS) + link + bytes(64)
    return head + struct.pack("<I", zlib.crc32(head)) + b"".join(reversed(out))
