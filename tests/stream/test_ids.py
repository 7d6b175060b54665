import struct

import pytest

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.stream.chunk import stored_ids


def test_payloads_of_numbers():
    ids = stored_ids(Ids.of([7, 2**31, 5]), "u32")
    assert ids.payload(1, 2) == struct.pack("<II", 2**31, 5)
    assert (ids.payload_bytes(1, 2), ids.number, len(ids)) == (8, 1, 3)
    wide = stored_ids(Ids.of([7, 8]), "u64")
    assert wide.payload(0, 2) == struct.pack("<QQ", 7, 8)
    assert wide.number == 2


def test_payloads_of_text():
    ids = stored_ids(Ids.of(["a", "éé", "b"]), "text")
    assert ids.payload(1, 2) == b"\x04\0\x01\0" + "ééb".encode()
    assert (ids.payload_bytes(1, 2), ids.number) == (9, 3)
    assert stored_ids(Ids.of([10, -2]), "text").payload(0, 2) == b"\x02\0\x02\x0010-2"


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([2**32], "u32", "2\\^32 - 1"),
        ([-1], "u64", "2\\^64 - 1"),
        (["x"], "u32", "u32 cannot hold"),
        ([1], "u16", "expected u32, u64 or text"),
        (["x", ""], "text", "the id of item 1 has 0 bytes"),
        (["x" * 65_536], "text", "65536 bytes, expected 1 to 65535"),
        (["\ud800"], "text", "no Unicode text"),
    ],
)
def test_ids_that_cannot_be_stored_are_refused(values, kind, words):
    with pytest.raises(InputError, match=words):
        stored_ids(Ids.of(values), kind)
