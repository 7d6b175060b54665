"""The stream's head, packed and unpacked as docs/stream-format.md says, and its limits."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from elasticrec.compression.codebooks import BLOCK
from elasticrec.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAGIC = b"\x89ELASTIC"
VERSION = 4
MAX_BLOCKS, MAX_ITEMS, MAX_COLUMNS, MAX_CODEBOOKS, MAX_SLOTS = 64, 2**26, 1024, 64, 64
MAX_SCALE = 16_384
"""The scales of the columns that cover one block sum to at most this."""
MAX_LENGTH, MAX_FLOAT, END_OF_DATES = 2**40, 1e9, 253_402_300_800
ID_KINDS = ("dense", "u32", "u64", "text")
FREE_CHUNKS, LEAST_STRIDE = 1024, 4096
"""Chunk number k starts at byte LEAST_STRIDE * (k - FREE_CHUNKS) or later."""
LINK = 12
"""Bytes of a link, the beginning of a SHA-256."""
FIRST_PART = 196
"""Bytes of the head before the vector of a person with an empty history."""

_FIRST = struct.Struct("<8sHHIBBBBIQQQQ32s32s16H28s4f")
_FIELDS = (
    "n_blocks", "n_items", "id_kind", "cosine", "vector_person", "support", "zero", "sequence",
    "trained", "least", "length", "model_id", "catalogue",
)  # fmt: skip
"""Fields between the version and the votes; `zero` is reserved."""


class StreamError(InputError):
    """A stream, or a file that goes with one, breaks a rule of the format."""


def need(fits: bool, message: str) -> None:
    """Refuse by a StreamError unless a rule holds."""
    if not fits:
        raise StreamError(message)


def head_bytes(n_blocks: int) -> int:
    """Length of the head of a stream with N blocks."""
    return 276 + BLOCK * n_blocks


@dataclass(frozen=True, kw_only=True)
class Head:
    """The fields of a stream's head (section 1)."""

    n_blocks: int
    n_items: int
    least: int
    """Bytes of the smallest useful prefix."""
    length: int
    """Bytes of the whole stream."""
    model_id: bytes
    votes: tuple[int, ...]
    """(16,) the value of each 4-bit vote."""
    popularity: bytes
    """(28,) factor in 1/128 by the binary digits of an item's number plus 1."""
    empty: bytes
    """(D,) i8: the vector of a person with an empty history."""
    unit: float
    recency: float
    weights: tuple[float, float] = (0.0, 0.0)
    """Vote weight of an item without columns, by history and by server vector."""
    id_kind: int = 0
    cosine: bool = True
    vector_person: bool = False
    support: int = 0
    """Fewest distinct persons behind every neighbour; 0 where it is not known."""
    sequence: int = 0
    trained: int = 0
    """Seconds since 1970-01-01 UTC."""
    catalogue: bytes = field(default=bytes(32), repr=False)
    link: bytes = field(default=bytes(LINK), repr=False)
    signature: bytes = field(default=bytes(64), repr=False)

    def signed_part(self) -> bytes:
        """The bytes that a signature covers: everything before it."""
        self.check()
        fields = [getattr(self, name, 0) for name in _FIELDS]
        rest = (*self.votes, self.popularity, self.unit, self.recency, *self.weights)
        return _FIRST.pack(MAGIC, VERSION, *fields, *rest) + self.empty + self.link

    def signed(self, key: Ed25519PrivateKey) -> Head:
        """The head with its signature (section 12)."""
        return replace(self, signature=key.sign(self.signed_part()))

    def pack(self) -> bytes:
        """The whole head with its checksum."""
        body = self.signed_part() + self.signature
        return body + struct.pack("<I", zlib.crc32(body))

    @classmethod
    def unpack(cls, data: bytes) -> Head:
        """The head at the beginning of `data`, after all of its rules were checked."""
        need(
            len(data) >= FIRST_PART and data[:8] == MAGIC,
            f"{len(data)} bytes that begin with {data[:8]!r}, expected the head of a stream",
        )
        _, version, *found = _FIRST.unpack_from(data)
        fields = dict(zip(_FIELDS, found[: len(_FIELDS)], strict=True))
        *votes, popularity, unit, recency, history, vector = found[len(_FIELDS) :]
        n_blocks, cosine, person = (fields[n] for n in ("n_blocks", "cosine", "vector_person"))
        zero = fields.pop("zero")
        need(version == VERSION, f"a stream of version {version}, expected version {VERSION}")
        need(1 <= n_blocks <= MAX_BLOCKS, f"{n_blocks} blocks, expected 1 to {MAX_BLOCKS}")
        end = head_bytes(n_blocks)
        need(len(data) >= end, f"{len(data)} bytes, expected a head of {end}")
        crc, made = struct.unpack_from("<I", data, end - 4)[0], zlib.crc32(data[: end - 4])
        need(crc == made, f"the head's CRC is {crc:08x}, its bytes give {made:08x}")
        need(cosine <= 1 and person <= 1, f"score {cosine}, person {person}, expected 0 or 1")
        need(zero == 0, f"reserved bytes of the head are {zero}, expected 0")
        fields |= {"cosine": bool(cosine), "vector_person": bool(person)}
        head = cls(
            **fields, votes=tuple(votes), popularity=popularity, unit=unit, recency=recency,
            weights=(history, vector), empty=data[FIRST_PART : end - 80],
            link=data[end - 80 : end - 68], signature=data[end - 68 : end - 4],
        )  # fmt: skip
        head.check()
        return head

    def check(self) -> None:
        """Refuse fields outside their limits."""
        N, V = self.n_blocks, self.n_items
        need(1 <= N <= MAX_BLOCKS, f"{N} blocks, expected 1 to {MAX_BLOCKS}")
        need(1 <= V <= MAX_ITEMS, f"{V} items, expected 1 to {MAX_ITEMS}")
        need(V <= self.least, f"{V} items, expected at most least, {self.least}")
        need(0 <= self.id_kind < len(ID_KINDS), f"id kind {self.id_kind}, expected 0 to 3")
        need(0 <= self.support <= 255, f"support {self.support}, expected 0 to 255")
        need(0 <= self.sequence < 2**64, f"sequence number {self.sequence}, expected 64 bits")
        need(
            0 <= self.trained < END_OF_DATES,
            f"a training {self.trained} seconds after 1970, expected a year before 10000",
        )
        need(
            head_bytes(N) < self.least <= self.length <= MAX_LENGTH,
            f"least {self.least} and length {self.length}, expected more than the head, "
            "least at most length, and length at most 2^40",
        )
        need(
            len(self.votes) == 16 and self.votes[0] == 0 and list(self.votes) == sorted(self.votes),
            f"vote values {self.votes}, expected 16 that start with 0 and never fall",
        )
        need(self.votes[-1] < 2**16, "a vote value above 16 bits")
        check_float("unit", self.unit)
        check_float("recency", self.recency)
        for weight in self.weights:
            check_float("vote weight", weight)


def check_float(name: str, value: float) -> None:
    """Refuse a float that the format cannot hold."""
    need(
        math.isfinite(value) and 0 <= value <= MAX_FLOAT,
        f"{name} {value}, expected a finite number from 0 to 10^9",
    )
