"""A stream that still grows: every cut, step by step, on a disk and in memory."""

import os
import struct
import zlib
from itertools import islice

import pytest

import elasticrec_device
from elasticrec_device import StreamError
from tests.device.python_making import COLUMNS, ends_of, random_stream


def answers(stream):
    """Lists that tell most states of a stream apart."""
    ids = stream.ids
    some = [ids[i] for i in range(0, len(ids), 5)]
    return [
        stream.recommend(k=100),
        stream.recommend(some, k=100, why=True),
        stream.info()["levels"],
    ]


def usable(made):
    """Ends of chunks from least on."""
    return [end for end in ends_of(made.data) if end >= made.head.least]


def short_streams(count):
    """Some streams of which a few hundred bytes may be missing."""
    made = (random_stream(seed, n=20, N=1) for seed in range(1000))
    some = (each for each in made if 200 < len(each.data) - each.head.least < 500)
    return list(islice(some, count))


@pytest.mark.parametrize("made", short_streams(4))
def test_every_cut_ranks_as_the_whole_chunks_before_it(made):
    ends, expected = usable(made), None
    for cut in range(made.head.least, len(made.data) + 1):
        with elasticrec_device.open(made.data[:cut]) as stream:
            found = answers(stream)
            about = stream.info()
        if cut in ends:
            expected = found
        assert found == expected
        assert about["bytes"] == max(end for end in ends if end <= cut)
        assert about["complete"] == (cut == len(made.data))


@pytest.mark.parametrize("seed", range(20))
def test_refresh_ranks_as_the_longer_prefix_does(seed):
    made = random_stream(seed, n=40)
    with elasticrec_device.open(made.data[: made.head.least]) as stream:
        answers(stream)
        for at, end in enumerate(usable(made)):
            assert stream.refresh(made.data[: end + 7]) == end
            if at % 3 == seed % 3 or end == len(made.data):  # not after each: changes add up
                assert answers(stream) == answers(elasticrec_device.open(made.data[:end]))


def test_a_file_may_grow_in_place_or_be_renamed(tmp_path):
    made = random_stream(3, n=40)
    path, part = tmp_path / "watch.elastic", tmp_path / "watch.part"
    path.write_bytes(made.data[: made.head.least])
    with elasticrec_device.open(path) as stream:
        assert stream.refresh() == made.head.least
        with path.open("ab") as file:
            file.write(made.data[made.head.least : usable(made)[2]])
        assert stream.refresh() == usable(made)[2]
        part.write_bytes(made.data)
        os.replace(part, path)
        assert stream.refresh() == len(made.data)
        assert answers(stream) == answers(elasticrec_device.open(made.data))


@pytest.mark.parametrize("other", ["shorter", "changed"])
def test_bytes_that_were_there_must_stay(other, tmp_path):
    made = random_stream(4, n=40)
    half, path = usable(made)[len(usable(made)) // 2], tmp_path / "watch.elastic"
    changed = bytearray(made.data)
    changed[half - 1] ^= 1
    path.write_bytes(made.data[:half])
    with elasticrec_device.open(path) as stream:
        before = answers(stream)
        (tmp_path / "new").write_bytes(made.data[: half - 1] if other == "shorter" else changed)
        os.replace(tmp_path / "new", path)
        with pytest.raises(StreamError, match="bytes from before"):
            stream.refresh()
        assert answers(stream) == before


def test_after_a_bad_chunk_a_stream_ranks_as_before():
    made = random_stream(5, n=40)
    good = usable(made)[len(usable(made)) // 2]
    for at in range(good, len(made.data), (len(made.data) - good) // 12):
        bad = bytearray(made.data)
        bad[at] ^= 4
        with elasticrec_device.open(made.data[:good]) as stream:
            before = answers(stream)
            with pytest.raises(StreamError):
                stream.refresh(bytes(bad))
            assert answers(stream) == before
            assert stream.refresh(made.data) == len(made.data)
            assert answers(stream) == answers(elasticrec_device.open(made.data))


def test_a_chunk_refused_halfway_leaves_nothing_behind():
    streams = (random_stream(seed) for seed in range(1000))
    made = next(
        each for each in streams if each.chunks[-2].kind == COLUMNS and each.chunks[-2].count > 1
    )
    start, stop = ends_of(made.data)[-3:-1]
    chunk = bytearray(made.data[start:stop])
    chunk[-16:-14] = b"\xff\xff"  # the codebook of the last column
    chunk[16:20] = bytes(4)
    chunk[16:20] = struct.pack("<I", zlib.crc32(chunk))
    with elasticrec_device.open(made.data[:start]) as stream:
        with pytest.raises(StreamError, match="codebook in chunk"):
            stream.refresh(made.data[:start] + bytes(chunk))
        assert stream.refresh(made.data) == len(made.data)
        assert answers(stream) == answers(elasticrec_device.open(made.data))


def test_a_file_longer_than_its_length_is_refused():
    made = random_stream(6)
    with elasticrec_device.open(made.data) as stream:
        for more in (b"\0", bytes(40)):
            with pytest.raises(StreamError, match="chunk"):
                stream.refresh(made.data + more)
            with pytest.raises(StreamError, match="chunk"):
                elasticrec_device.open(made.data + more)
        assert stream.refresh(made.data) == len(made.data)
