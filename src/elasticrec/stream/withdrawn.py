"""Withdrawn items as a small file: valid in a history, never listed."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.stream.format import need

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAGIC = b"\x89ELWITHD"
VERSION = 1
_HEADER = struct.Struct("<8sHHI32sQ64s")


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
        return _HEADER.pack(MAGIC, VERSION, 0, crc, model_id, self.sequence, signature)

    @classmethod
    def unpack(cls, data: bytes, public: bytes | None = None) -> WithdrawnList:
        """The list in a file, after all of its rules were checked.

        Args:
            public: 32 bytes; given, the list must be signed by this key.
        """
        size = _HEADER.size
        need(
            len(data) >= size and (len(data) - size) % 4 == 0 and data[:8] == MAGIC,
            f"{len(data)} bytes that begin with {data[:8]!r}, expected a withdrawn list",
        )
        _, version, zero, crc, model_id, sequence, signature = _HEADER.unpack_from(data)
        need(version == VERSION, f"a withdrawn list of version {version}, expected {VERSION}")
        need(zero == 0, f"reserved bytes of a withdrawn list are {zero}, expected 0")
        made = zlib.crc32(data[:12] + bytes(4) + data[16:])
        need(crc == made, f"the withdrawn list's CRC is {crc:08x}, its bytes give {made:08x}")
        if public is not None:
            from elasticrec.stream.signing import verify

            unsigned = data[:12] + bytes(4) + data[16 : size - 64] + bytes(64) + data[size:]
            verify(unsigned, signature, public, "the withdrawn list")
        numbers = np.frombuffer(data, dtype="<u4", offset=size).astype(np.int64)
        _check_numbers(numbers)
        return cls(model_id.hex(), numbers, sequence)


def _check_numbers(numbers: np.ndarray) -> None:
    """Refuse numbers that do not rise strictly or that no item can have."""
    rising = bool((np.diff(numbers) > 0).all()) and bool((numbers >= 0).all())
    need(rising, "numbers of withdrawn items that do not rise, expected each one once, in order")
    need(numbers.max(initial=0) < 2**26, "the number of a withdrawn item is 2^26 or more")
