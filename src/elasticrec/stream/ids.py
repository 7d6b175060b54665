"""Original ids as a section of a bundle: 32 bits, 64 bits or text."""

from __future__ import annotations

import numpy as np

from elasticrec.errors import InputError
from elasticrec.data.ids import Ids


def storable(ids: Ids) -> np.ndarray | list[str]:
    """Ids as a bundle holds them: the narrowest whole numbers that do, else their text."""
    listed = ids.values.tolist()
    if ids.are_text:
        return [str(text) for text in listed]
    least, most = min(listed, default=0), max(listed, default=0)
    if least < 0 or most >= 2**64:
        return [str(number) for number in listed]
    return np.array(listed, dtype=np.uint32 if most < 2**32 else np.uint64)


def id_section(ids: np.ndarray | list[str] | None) -> bytes:
    """The bytes of the section IDS; ids that repeat, or empty text, are refused."""
    if ids is None:
        return b""
    if len(set(ids if isinstance(ids, list) else ids.tolist())) < len(ids):
        raise InputError("an id is given twice, expected different ids")
    if not isinstance(ids, list):
        if ids.dtype not in (np.uint32, np.uint64):
            raise InputError(f"ids of {ids.dtype}, expected uint32, uint64 or strings")
        return ids.astype(ids.dtype.newbyteorder("<")).tobytes()
    try:
        encoded = [text.encode("utf-8") for text in ids]
    except UnicodeEncodeError as error:
        raise InputError(f"an id is no Unicode text ({error})") from None
    if not all(encoded):
        raise InputError(f"the id of item {encoded.index(b'')} is empty, expected some text")
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] >= 2**32:
        raise InputError(f"ids of {ends[-1]} bytes, a bundle holds less than 2^32")
    return ends.astype("<u4").tobytes() + b"".join(encoded)
