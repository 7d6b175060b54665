"""Original ids as a stream stores them (section 5)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.stream.format import ID_KINDS

LONGEST_TEXT = 2**16 - 1
"""Bytes of UTF-8 in one text id."""


@dataclass(frozen=True, eq=False)
class StoredIds:
    """The ids of all items in item order, ready to be cut into payloads."""

    kind: str
    """One of `u32`, `u64` and `text`."""
    data: bytes
    """Numbers or UTF-8 text, back to back."""
    ends: np.ndarray
    """(V + 1,) int64: where each id's bytes begin in `data`, and the length of `data`."""

    @property
    def number(self) -> int:
        """The head's id kind."""
        return ID_KINDS.index(self.kind)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def payload_bytes(self, first: int, count: int) -> int:
        """Bytes of the payload of `count` ids."""
        lengths = 2 * count if self.kind == "text" else 0
        return int(self.ends[first + count] - self.ends[first]) + lengths

    def payload(self, first: int, count: int) -> bytes:
        """The payload of `count` ids (section 5)."""
        ends = self.ends[first : first + count + 1]
        content = self.data[ends[0] : ends[-1]]
        if self.kind == "text":
            return bytes(np.diff(ends).astype("<u2").tobytes() + content)
        return content


def stored_ids(ids: Ids, kind: str) -> StoredIds:
    """Ids as a stream stores them, `u32`, `u64` or `text`; a number becomes its decimal text."""
    if kind not in ID_KINDS[1:]:
        raise InputError(f"ids of kind {kind!r}, expected u32, u64 or text")
    values = ids.values.tolist()
    if len(set(values)) < len(values):
        raise InputError("an id is given twice, expected different ids")
    if kind == "text":
        return _text([str(value) for value in values])
    size, letter = (4, "I") if kind == "u32" else (8, "Q")
    try:
        data = struct.pack(f"<{len(values)}{letter}", *values)
    except struct.error:
        limit = f"whole numbers from 0 to 2^{8 * size} - 1"
        raise InputError(f"ids that {kind} cannot hold, expected {limit}") from None
    return StoredIds(kind, data, np.arange(len(values) + 1, dtype=np.int64) * size)


def _text(values: list[str]) -> StoredIds:
    """Text ids, each valid and neither empty nor too long."""
    try:
        encoded = [value.encode("utf-8") for value in values]
    except UnicodeEncodeError as error:
        raise InputError(f"an id is no Unicode text ({error})") from None
    for item, text in enumerate(encoded):
        if not 1 <= len(text) <= LONGEST_TEXT:
            raise InputError(
                f"the id of item {item} has {len(text)} bytes, expected 1 to {LONGEST_TEXT}"
            )
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return StoredIds("text", b"".join(encoded), ends)
