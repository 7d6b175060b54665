"""`elasticrec customize`: a prefix of the stream, within the budget, the same whoever asks."""

import re
import subprocess
import sys
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.stream.chunk import read_index
from tests.cli.running import refused, run, run_json

OPTIONS = st.lists(st.sampled_from(["--json", "from the stream"]), unique=True)


@settings(max_examples=40, deadline=None)
@given(share=st.floats(0, 1.2), more=OPTIONS)
def test_a_file_is_the_longest_run_of_whole_chunks_within_its_budget(tiny_model, share, more):
    whole = tiny_model.stream_path.read_bytes()
    index = read_index(tiny_model.stream_path)
    budget = int(index.head.least + share * (len(whole) - index.head.least))
    source = tiny_model.stream_path if "from the stream" in more else tiny_model.root
    with TemporaryDirectory() as folder:
        out = f"{folder}/watch.elastic"
        run("customize", source, "-b", budget, "-o", out, *set(more) & {"--json"})
        with open(out, "rb") as file:
            content = file.read()
    assert content == whole[: len(content)]
    assert len(content) == max(end for end in index.ends if end <= budget)


def test_the_measured_quality_of_that_size_is_told(tiny_model, tmp_path):
    point = tiny_model.curve["points"][1]
    asked = ("customize", tiny_model.root, "-b", point["bytes"], "-o", tmp_path / "w.elastic")
    said = f"recall@50 {point['recall@50']:.4f} measured at {point['bytes']:,} bytes on"
    assert f"w.elastic: {point['bytes']:,} of {point['bytes']:,} bytes, {said}" in run(*asked)
    facts = run_json(*asked)
    assert facts["bytes"] == facts["budget"] == point["bytes"]
    assert facts["quality"].startswith(said)


@pytest.mark.parametrize("kind", ["u32", "u64", "text"])
def test_ids_of_the_shop_are_paid_for_and_measured(tiny_model, tmp_path, kind):
    device = pytest.importorskip("elasticrec_device")
    out, budget = tmp_path / "watch.elastic", 8_000
    said = run("customize", tiny_model.root, "-b", budget, "--ids", kind, "-o", out)
    users = tiny_model.curve["users"]
    assert re.search(rf"recall@50 0\.\d+ measured at [\d,]+ bytes on {users} validation", said)
    assert budget * 0.9 <= out.stat().st_size <= budget
    with device.open(out) as stream:
        assert stream.info()["ids"] == kind
        ids = list(stream.ids)
        known = tiny_model.split.item_ids.values[: len(ids)].tolist()
        assert ids == (list(map(str, known)) if kind == "text" else known)
        assert len(stream.recommend(ids[:3], k=10)) == 10
    assert [file.name for file in tmp_path.iterdir()] == ["watch.elastic"]


def test_a_whole_file_with_ids_is_as_good_as_the_stream(tiny_model, tmp_path):
    out = tmp_path / "all.elastic"
    said = run("customize", tiny_model.root, "-b", "1MB", "--ids", "u32", "-o", out)
    assert f"recall@50 {tiny_model.curve['points'][-1]['recall@50']:.4f} measured at" in said


def test_a_budget_below_the_smallest_useful_size_is_refused_by_name(tiny_model, tmp_path):
    out, least = tmp_path / "w.elastic", read_index(tiny_model.stream_path).head.least
    line = refused("customize", tiny_model.root, "-b", least - 1, "-o", out)
    assert f"the smallest useful size of this stream is {least}" in line
    assert "smallest useful size" in refused(
        "customize", tiny_model.root, "-b", 500, "--ids", "text", "-o", out
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-b", "much", "-o", "w.elastic"], "'much' is not a size; try 5MB, 512KB"),
        (["-b", "0", "-o", "w.elastic"], "'0' is 0 bytes, expected 1 to"),
        (["-b", "inf", "-o", "w.elastic"], "'inf' is not a size"),
        (["-b", "-5", "-o", "w.elastic"], "'-5' is not a size"),
        (["-b", "5KB", "-o", "no/such/w.elastic"], "there is no folder no/such"),
        (["-b", "5KB", "-o", "."], "is a folder, expected the name of a file"),
    ],
)
def test_bad_input_is_one_line(tiny_model, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("customize", tiny_model.root, *words)
    assert not list(tmp_path.iterdir())


def test_what_is_no_stream_is_refused(tiny_model, tmp_path):
    ask = ("-b", "5KB", "-o", tmp_path / "w.elastic")
    assert "no model" in refused("customize", tmp_path, *ask)
    assert "cannot be read" in refused("customize", tmp_path / "nothing", *ask)
    assert "expected the head of a stream" in refused("customize", tiny_model.path("split"), *ask)
    assert "needs a model folder" in refused(
        "customize", tiny_model.stream_path, *ask, "--ids", "u32"
    )


def test_customizing_imports_nothing_heavy(tiny_model, tmp_path):
    words = ["customize", str(tiny_model.root), "-b", "8KB", "-o", str(tmp_path / "w.elastic")]
    code = (
        f"import sys; from elasticrec.cli.main import app\n"
        f"try: app({words!r})\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'scipy', 'polars', 'matplotlib'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
