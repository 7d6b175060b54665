"""Small files beside a stream: a person's vector, withdrawn items, the catalogue, and keys."""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.files import writing
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
    """The catalogue as bytes (section 11); equal inputs give equal bytes. A title may be ""."""
    content = {
        "format": CATALOGUE_FORMAT,
        "model_id": model_id,
        "id_kind": "text" if ids.are_text else "integer",
        "ids": [str(value) for value in ids.values.tolist()],
        "titles": None if titles is None else [title or None for title in titles.tolist()],
    }
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def new_key(path: Path | str) -> Path:
    """Write a new private key to `path` and its public key to `path`.pub; the latter's path.

    The private key is PEM (PKCS #8) that only its owner may read; the public one is 64 hex digits.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = Path(path)
    public = path.with_name(path.name + ".pub")
    for file in (path, public):
        if file.exists():
            raise InputError(f"{file}: is there already, expected the name of a new file")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with writing(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as private:
            private.write(pem)
        public.write_text(public_bytes(key).hex() + "\n", encoding="ascii")
    return public


def load_key(path: Path | str) -> Ed25519PrivateKey:
    """The private key in a file that `new_key` or openssl wrote."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(Path(path).read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: is no unencrypted PEM file, expected a private key") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: holds a key of another kind, expected Ed25519")
    return key


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of a key's public half."""
    return key.public_key().public_bytes_raw()
