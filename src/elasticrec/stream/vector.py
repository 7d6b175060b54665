"""A person's vector from the server, as the small file that a device reads beside its stream."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from elasticrec.errors import InputError

MAGIC = b"\x89ELVECTO"
VERSION = 2
VECTOR_HEADER = 48
"""Bytes before the numbers, of which there are two bytes each."""


def vector_file(vector: np.ndarray, rotation: np.ndarray, model_id: str) -> bytes:
    """The bytes of one person's vector file (section 9): rotated as the codes are, of length 1.

    Args:
        vector: (D,) as the table holds it.
        rotation: (D, D) of the model's codes.
        model_id: hex sha256.
    """
    given = np.asarray(vector, dtype=np.float64)
    if given.shape != (len(rotation),):
        raise InputError(f"a vector of shape {given.shape}, expected ({len(rotation)},)")
    rotated = given @ rotation.astype(np.float64)
    length = float(np.sqrt((rotated * rotated).sum()))
    if not np.isfinite(length) or length == 0:
        raise InputError(f"a vector of length {length}, expected a finite one above 0")
    return vector_bytes(rotated / length, model_id)


def vector_bytes(numbers: np.ndarray, model_id: str) -> bytes:
    """The bytes of a vector file that holds these numbers (D,), as half-precision floats."""
    halves = np.asarray(numbers).astype("<f2")
    if not np.isfinite(halves).all():
        raise InputError("a vector holds a number that half precision cannot, expected finite ones")
    head = struct.pack("<8sHHI32s", MAGIC, VERSION, len(halves), 0, bytes.fromhex(model_id))
    crc = zlib.crc32(head + halves.tobytes())
    return head[:12] + struct.pack("<I", crc) + head[16:] + halves.tobytes()
