"""`elasticrec inspect`: the facts of a model and of a file."""

import pytest

from elasticrec.model import Model
from elasticrec.stream.chunk import read_index
from tests.cli.running import refused, run, run_json


def test_a_model_shows_its_data_choices_and_quality(tiny_model):
    shown = run("inspect", tiny_model.root)
    assert "data: planted, 300 users, 200 items, 4," in shown
    assert "trained: history, 4 blocks of 8, 4 epochs" in shown
    assert "at least 2 persons behind each" in shown
    assert f"model id: {tiny_model.id}" in shown
    assert shown.count("choice: ") == len(tiny_model.about["choices"]) == 4
    for point in tiny_model.curve["points"]:
        assert f"{point['bytes']:,} bytes: {point['recall@50']:.4f}" in shown
    assert run_json("inspect", tiny_model.root)["model id"] == tiny_model.id


def test_a_model_in_the_making_shows_what_there_is(tiny_split, tmp_path):
    model = Model.create(tmp_path / "MODEL")
    assert "data" not in run("inspect", tmp_path / "MODEL")
    model.save_part("split", tiny_split)
    assert "data: planted" in run("inspect", tmp_path / "MODEL")


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_a_file_shows_how_much_of_the_stream_it_is(tiny_model, tmp_path, share):
    content = tiny_model.stream_path.read_bytes()
    part = tmp_path / "part.elastic"
    part.write_bytes(content[: int(share * len(content))])
    facts, end = run_json("inspect", part), read_index(part).ends[-1]
    assert facts["stream"].startswith(f"{end:,} of {len(content):,} bytes")
    assert facts["model id"] == tiny_model.id
    assert (facts["items"], facts["ids"], facts["signed"]) == ("200", "dense", "no")
    assert facts["trained"] == tiny_model.about["trained"]
    assert facts["have"][0].startswith("items 0 to")
    assert facts["have"][-1].endswith("neighbours")
    assert f"have: {facts['have'][0]}" in run("inspect", part)


def test_what_is_neither_is_refused(tiny_model, tmp_path):
    assert "is no model" in refused("inspect", tmp_path)
    assert "cannot be read" in refused("inspect", tmp_path / "nothing")
    assert "expected the head of a stream" in refused("inspect", tiny_model.path("table"))
    short = tmp_path / "short.elastic"
    short.write_bytes(tiny_model.stream_path.read_bytes()[:1000])
    assert "1000 bytes, the smallest useful prefix has" in refused("inspect", short)
    short.write_bytes(b"")
    assert "is empty, expected a stream" in refused("inspect", short)
