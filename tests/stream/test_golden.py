"""The golden files are what the script makes; their streams open wherever they are cut."""

import json
from pathlib import Path

import pytest

from elasticrec.stream.chunk import index_of
from elasticrec.stream.side_files import public_bytes
from scripts import conformance
from tests.stream.golden import KEY, stream
from tests.stream.making import kept_files
from tests.stream.questions import cuts
from tests.stream.reference_file import StreamFile
from tests.stream.worlds import WORLDS

FOLDER = Path(__file__).resolve().parents[2] / "device" / "conformance"
PUBLIC = public_bytes(KEY)


def test_the_golden_files_are_what_the_script_makes():
    files = kept_files(FOLDER)
    assert files == conformance.golden_files()
    assert sum(map(len, files.values())) < 320_000


def test_every_kind_of_stream_is_among_the_golden_ones():
    assert {world.ids for world in WORLDS} == {"dense", "u32", "u64", "text"}
    assert {world.cosine for world in WORLDS} == {True, False}
    assert any(world.signed for world in WORLDS)
    bits = {max(1, (world.n_items - 1).bit_length()) for world in WORLDS}
    assert bits >= {1, 7, 8, 9, 17}
    headers = [index_of(stream(w), len(stream(w))).headers for w in WORLDS]
    assert {each.kind for listed in headers for each in listed} == {1, 2, 3, 4, 5}


def test_the_expected_answers_are_sound():
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    names = {each["file"] for each in expected["streams"]}
    assert names == {f"{world.name}.elastic" for world in WORLDS}
    for question in expected["questions"]:
        assert question["stream"] in names
        items, scores = question["items"], question["scores"]
        assert len(items) == len(scores) == len(question["why"]) <= question["k"]
        assert len(set(items)) == len(items)
        assert question["diversity"] or scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_cut_of_a_golden_stream_opens(world):
    data = stream(world)
    for cut in cuts(data):
        file = StreamFile(data[:cut], PUBLIC if world.signed else None)
        assert file.ends == [end for end in index_of(data, len(data)).ends if end <= cut]
