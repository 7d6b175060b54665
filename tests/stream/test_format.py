import struct
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticrec.stream.chunk import ChunkHeader, link_to, seal
from elasticrec.stream.cutting import neighbour_bytes
from elasticrec.stream.format import Head, StreamError, head_bytes

HEAD = Head(
    n_blocks=1,
    n_items=9,
    least=400,
    length=500,
    model_id=bytes(range(32)),
    votes=tuple(range(16)),
    popularity=bytes(28),
    empty=bytes(range(8)),
    unit=2.0,
    recency=0.5,
)
FLOATS = st.floats(0, 1e9, width=32)


@given(
    st.integers(1, 2**26),
    st.integers(0, 2**64 - 1),
    st.integers(0, 253_402_300_799),
    st.tuples(FLOATS, FLOATS),
    st.booleans(),
    st.binary(min_size=64, max_size=64),
)
def test_a_head_is_read_as_it_was_written(n_items, sequence, trained, weights, flag, signature):
    head = replace(
        HEAD,
        n_items=n_items,
        sequence=sequence,
        trained=trained,
        weights=weights,
        least=2**26,
        length=2**40,
        cosine=flag,
        vector_person=not flag,
        signature=signature,
        id_kind=3,
        support=5,
    )
    packed = head.pack()
    assert len(packed) == head_bytes(1) == 284
    assert Head.unpack(packed + b"what follows") == head


def test_fields_stand_where_the_page_says():
    packed = replace(HEAD, sequence=7, trained=8, support=5, link=b"L" * 12).pack()
    assert packed[:8] == bytes.fromhex("89454C4153544943")
    assert struct.unpack_from("<HHIBBBBIQQQQ", packed, 8) == (
        4,
        1,
        9,
        0,
        1,
        0,
        5,
        0,
        7,
        8,
        400,
        500,
    )
    assert packed[56:88] == bytes(range(32))
    assert struct.unpack_from("<16H", packed, 120) == tuple(range(16))
    assert struct.unpack_from("<4f", packed, 180) == (2.0, 0.5, 0.0, 0.0)
    assert packed[196:204] == bytes(range(8))
    assert packed[204:216] == b"L" * 12
    assert struct.unpack_from("<I", packed, 280)[0] == zlib.crc32(packed[:280])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"n_items": 0}, "0 items, expected 1"),
        ({"n_items": 401}, "at most least, 400"),
        ({"least": 284}, "more than the head"),
        ({"least": 501}, "least at most length"),
        ({"length": 2**40 + 1}, "at most 2\\^40"),
        ({"votes": (1, *range(1, 16))}, "start with 0 and never fall"),
        ({"votes": (*range(15), 13)}, "start with 0 and never fall"),
        ({"votes": (*range(15), 2**16)}, "above 16 bits"),
        ({"unit": float("nan")}, "unit nan"),
        ({"recency": -1.0}, "recency -1.0"),
        ({"weights": (0.0, 2e9)}, "vote weight 2000000000.0"),
        ({"trained": 253_402_300_800}, "before 10000"),
        ({"id_kind": 4}, "id kind 4"),
        ({"support": 256}, "support 256"),
        ({"sequence": 2**64}, "64 bits"),
    ],
)
def test_a_field_outside_its_limits_is_refused(fields, words):
    with pytest.raises(StreamError, match=words):
        replace(HEAD, **fields).pack()


def test_damaged_heads_are_refused():
    packed = HEAD.pack()
    for at in range(len(packed)):
        with pytest.raises(StreamError):
            Head.unpack(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :])
        with pytest.raises(StreamError):
            Head.unpack(packed[:at])
    older = packed[:8] + b"\x03\0" + packed[10:]
    with pytest.raises(StreamError, match="version 3, expected version 4"):
        Head.unpack(older)


def test_a_chunk_is_sealed_as_the_page_says():
    chunk = seal(ChunkHeader(0, 3, 0, 1, 2, 4), b"abcd", b"L" * 12)
    assert struct.unpack_from("<IBBHII", chunk) == (4, 3, 0, 1, 2, 4)
    assert chunk[20:32] == b"L" * 12
    crc = struct.unpack_from("<I", chunk, 16)[0]
    assert crc == zlib.crc32(chunk[:16] + bytes(4) + chunk[20:])
    assert ChunkHeader.unpack(b"??" + chunk, 2).chunk_bytes == len(chunk) == 36


def test_a_link_is_the_beginning_of_sha_256():
    assert link_to(b"abc").hex() == "ba7816bf8f01cfea414140de"  # the standard's own example


@pytest.mark.parametrize(
    ("count", "n_items", "expected"),
    [(1, 1, 1 + 1), (8, 256, 8 + 4), (9, 257, 9 + 2 + 5), (3, 2**17, 6 + 1 + 2)],
)
def test_bytes_of_a_slot(count, n_items, expected):
    assert neighbour_bytes(count, n_items) == expected
