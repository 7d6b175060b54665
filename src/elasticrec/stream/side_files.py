"""Small files beside a stream: a person's vector, withdrawn items, the catalogue."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.stream.format import need

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


VECTOR_MAGIC = b"\x89ELVECTO"
VECTOR_VERSION = 2


def vector_bytes(numbers: np.ndarray, model_id: str) -> bytes:
    """The bytes of a person's vector file (section 9): these numbers (D,) in half precision.

    They are those of `Model.server_vectors`, rotated as the codes are and of length 1.
    """
    halves = np.asarray(numbers).astype("<f2")
    if not np.isfinite(halves).all():
        raise InputError("a vector holds a number that half precision cannot, expected finite ones")
    head = struct.pack(
        "<8sHHI32s", VECTOR_MAGIC, VECTOR_VERSION, len(halves), 0, bytes.fromhex(model_id)
    )
    crc = zlib.crc32(head + halves.tobytes())
    return head[:12] + struct.pack("<I", crc) + head[16:] + halves.tobytes()


WITHDRAWN_MAGIC = b"\x89ELWITHD"
WITHDRAWN_VERSION = 1
_WITHDRAWN_HEAD = struct.Struct("<8sHHI32sQ64s")


@dataclass(frozen=True, eq=False)
class WithdrawnList:
    """The numbers of withdrawn items of one model (section 10)."""

    model_id: str
    """Hex sha256."""
    numbers: np.ndarray
    """(n,) item numbers, strictly rising."""
    sequence: int = 0

    def pack(self, key: Ed25519PrivateKey | None = None) -> bytes:
        """The bytes of the file, signed where a key is given."""
        need(0 <= self.sequence < 2**64, f"sequence number {self.sequence}, expected 64 bits")
        numbers = np.asarray(self.numbers, dtype=np.int64)
        _check_numbers(numbers)
        items = numbers.astype("<u4").tobytes()
        signature = bytes(64) if key is None else key.sign(self._header(0, bytes(64)) + items)
        crc = zlib.crc32(self._header(0, signature) + items)
        return self._header(crc, signature) + items

    def _header(self, crc: int, signature: bytes) -> bytes:
        model_id = bytes.fromhex(self.model_id)
        return _WITHDRAWN_HEAD.pack(
            WITHDRAWN_MAGIC, WITHDRAWN_VERSION, 0, crc, model_id, self.sequence, signature
        )

    @classmethod
    def unpack(cls, data: bytes) -> WithdrawnList:
        """The list in a file that keeps all rules; devices verify its signature."""
        size = _WITHDRAWN_HEAD.size
        need(
            len(data) >= size and (len(data) - size) % 4 == 0 and data[:8] == WITHDRAWN_MAGIC,
            f"{len(data)} bytes that begin with {data[:8]!r}, expected a withdrawn list",
        )
        _, version, zero, crc, model_id, sequence, _ = _WITHDRAWN_HEAD.unpack_from(data)
        need(
            version == WITHDRAWN_VERSION,
            f"a withdrawn list of version {version}, expected {WITHDRAWN_VERSION}",
        )
        need(zero == 0, f"reserved bytes of a withdrawn list are {zero}, expected 0")
        made = zlib.crc32(data[:12] + bytes(4) + data[16:])
        need(crc == made, f"the withdrawn list's CRC is {crc:08x}, its bytes give {made:08x}")
        numbers = np.frombuffer(data, dtype="<u4", offset=size).astype(np.int64)
        _check_numbers(numbers)
        return cls(model_id.hex(), numbers, sequence)


def _check_numbers(numbers: np.ndarray) -> None:
    """Refuse numbers that do not rise strictly or that no item can have."""
    rising = bool((np.diff(numbers) > 0).all()) and bool((numbers >= 0).all())
    need(rising, "numbers of withdrawn items that do not rise, expected each one once, in order")
    need(numbers.max(initial=0) < 2**26, "the number of a withdrawn item is 2^26 or more")


CATALOGUE_FORMAT = "elasticrec catalogue 1"
"""The first field of a catalogue."""


def catalogue(ids: Ids, titles: np.ndarray | None, model_id: str) -> bytes:
    """The catalogue as bytes (section 11); equal inputs give equal bytes.

    Args:
        titles: (V,) text, "" where there is none; None where no item has a title.
    """
    content = {
        "format": CATALOGUE_FORMAT,
        "model_id": model_id,
        "id_kind": "text" if ids.are_text else "integer",
        "ids": [str(value) for value in ids.values.tolist()],
        "titles": None if titles is None else [title or None for title in titles.tolist()],
    }
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
