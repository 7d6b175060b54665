"""The Python runtime refuses every hostile file, by an error that says why."""

import contextlib
import json
from pathlib import Path

import pytest

import elasticrec_device
from elasticrec_device import StreamError
from tests.device.python_making import CODEBOOK, CODES, Chunk, Head, seal

HOSTILE = Path(__file__).parents[2] / "device" / "hostile"
EXPECTED = json.loads((HOSTILE / "expected.json").read_text(encoding="utf-8"))
KEY, SOUND = EXPECTED["public_key"], HOSTILE / "sound.elastic"
CASES = [pytest.param(case, id=case["file"]) for case in EXPECTED["cases"]]


def read(case, key):
    """Read a hostile file as a program would."""
    path = HOSTILE / case["file"]
    if case["kind"] == "stream":
        elasticrec_device.open(path, key)
        return
    with elasticrec_device.open(SOUND, key) as stream:
        match case["kind"]:
            case "vector":
                stream.recommend(vector=path)
            case "withdrawn":
                stream.withdraw(path)
            case "catalogue":
                stream.catalogue(path)


@pytest.mark.parametrize("case", CASES)
def test_refuses_a_hostile_file(case):
    with pytest.raises(StreamError, match=r"found .*, expected ") as refused:
        read(case, KEY if case["key"] else None)
    assert all(name in str(refused.value) for name in case["names"])
    if case["key"]:
        read(case, None)  # nothing else is wrong


@pytest.mark.parametrize("key", [None, KEY])
def test_takes_the_sound_files(key):
    with elasticrec_device.open(SOUND, key) as stream:
        stream.withdraw(HOSTILE / "sound.withdrawn")
        stream.catalogue(HOSTILE / "sound.catalogue.json")
        assert stream.recommend(vector=HOSTILE / "sound.vector")


def test_another_key_and_a_larger_sequence_number_are_refused():
    with pytest.raises(StreamError, match="signature of the head"):
        elasticrec_device.open(SOUND, EXPECTED["other_key"])
    elasticrec_device.open(SOUND, min_sequence=EXPECTED["sequence"])
    with pytest.raises(StreamError, match="sequence in the head: found 7, expected 8 to"):
        elasticrec_device.open(SOUND, min_sequence=EXPECTED["sequence"] + 1)


def changed_late():
    """Streams whose first `least` bytes are right by the key, and a link behind them is not."""
    for case in EXPECTED["cases"]:
        if case["file"].startswith("key-link-"):
            data = (HOSTILE / case["file"]).read_bytes()
            with contextlib.suppress(StreamError):
                elasticrec_device.open(data[: EXPECTED["least"]], KEY)
                yield data


def test_a_signed_stream_does_not_grow_by_another_one():
    assert len([*changed_late()]) > 3
    for other in changed_late():
        with elasticrec_device.open(other[: EXPECTED["least"]], KEY) as stream:
            before = stream.recommend()
            with pytest.raises(StreamError, match="link"):
                stream.refresh(other)
            assert stream.recommend() == before
        with elasticrec_device.open(other[: EXPECTED["least"]]) as stream:
            assert stream.refresh(other) == len(other)


def test_a_prefix_below_least_is_refused_by_an_error_that_names_it():
    whole, least = SOUND.read_bytes(), EXPECTED["least"]
    for length in range(len(whole) + 1):
        if length >= least:
            elasticrec_device.open(whole[:length])
            continue
        with pytest.raises(StreamError) as refused:
            elasticrec_device.open(whole[:length])
        assert length < EXPECTED["head"] or f"at least {least} bytes (least)" in str(refused.value)


CODES_OF_ONE = Chunk(CODES, 0, 0, 1, b"7")
WORDS = Chunk(CODEBOOK, 0, 0, 32, bytes(256), width=1)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([WORDS, Chunk(CODEBOOK, 1, 0, 32, b"", width=0)], "width of chunk 1 .*: found 0"),
        ([CODES_OF_ONE], "which of chunk 0"),
        ([WORDS, CODES_OF_ONE], "which of chunk 1"),
    ],
)
def test_refuses_what_no_hostile_file_has(chunks, message):
    with pytest.raises(StreamError, match=message):
        elasticrec_device.open(seal(Head(), chunks))
