"""Numbers of a few bits, packed plane by plane, and positive numbers as one byte each."""

from __future__ import annotations

import numpy as np


def pack(numbers: np.ndarray, bits: int) -> np.ndarray:
    """(bits, ⌈n/8⌉) uint8: bit b of all n numbers, eight to a byte, for every bit."""
    flat = numbers.reshape(-1)
    return np.stack([np.packbits(flat >> b & 1) for b in range(bits)])


def unpack(planes: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64 the numbers that `pack` packed."""
    total = np.zeros(n, dtype=np.int64)
    for b, plane in enumerate(planes):
        total |= np.unpackbits(plane, count=n).astype(np.int64) << b
    return total


def packed_bytes(n: int, bits: int) -> int:
    """Bytes that `pack` makes of n numbers."""
    return bits * -(-n // 8)


def code_scales(scales: np.ndarray) -> dict[str, np.ndarray]:
    """Positive numbers (V,) as bytes, by equal steps of their logarithm, and the two ends."""
    logs = np.log(np.maximum(scales.astype(np.float64), 1e-12))
    ends = np.array([logs.min(), logs.max()], dtype=np.float32)
    step = max(float(ends[1] - ends[0]), 1e-9) / 255
    codes = np.clip(np.rint((logs - ends[0]) / step), 0, 255).astype(np.uint8)
    return {"scales": codes, "scale_ends": ends}


def decode_scales(codes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(V,) float32 the numbers that `code_scales` coded, within half a step."""
    step = (ends[1] - ends[0]) / np.float32(255)
    return np.asarray(np.exp(ends[0] + step * codes.astype(np.float32)), dtype=np.float32)


SCALE_ENDS_BYTES = 8
"""Bytes that `code_scales` stores beside one for each item."""
