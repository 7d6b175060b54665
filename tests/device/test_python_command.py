"""`python -m elasticrec_device`: its lists and its errors."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import elasticrec_device
from elasticrec_device import main
from tests.device.python_making import catalogue_of, random_stream, vector_file, withdrawn_file

TITLES = [f"Title {i}" if i % 3 else None for i in range(50)]
CATALOGUE = catalogue_of(TITLES)
ABOUT = {"n": 50, "N": 2, "catalogue": hashlib.sha256(CATALOGUE).digest()}


@pytest.fixture(name="watch")
def stream_file(tmp_path):
    """The path of a stream with dense ids, beside its catalogue."""
    path = tmp_path / "watch.elastic"
    path.write_bytes(random_stream(72, id_kind=0, **ABOUT).data)
    (tmp_path / "catalogue.json").write_bytes(CATALOGUE)
    return path


def printed(words, capsys):
    main([str(word) for word in words])
    return capsys.readouterr()


def test_prints_a_line_for_each_item(watch, capsys):
    words = [watch, "--history", 13, 5, 26, "-k", 40, "--why"]
    out = printed([*words, "--catalogue", watch.with_name("catalogue.json")], capsys).out
    with elasticrec_device.open(watch) as stream:
        found = stream.recommend([13, 5, 26], k=40, why=True)
    assert len(found) == 40
    for place, (line, item) in enumerate(zip(out.splitlines(), found, strict=True), start=1):
        because = "" if item.why is None else f"(because of {item.why})"
        parts = [str(place), str(item.score), str(item.id), TITLES[item.id] or "", because]
        assert line.split() == " ".join(parts).split()
    assert "because of" in out


def test_prints_json_with_what_the_stream_is(watch, capsys):
    said = json.loads(printed([watch, "--json", "--history", 7, 99], capsys).out)
    with elasticrec_device.open(watch) as stream:
        assert said["stream"] == stream.info()
        assert [item["id"] for item in said["items"]] == [i.id for i in stream.recommend([7])]
    assert said["unknown"] == 1


def test_takes_every_file_and_leaves_out_what_it_should(watch, capsys, tmp_path):
    (tmp_path / "me.vector").write_bytes(vector_file(range(16)))
    (tmp_path / "gone").write_bytes(withdrawn_file([2, 3]))
    words = ["--vector", tmp_path / "me.vector", "--withdrawn", tmp_path / "gone"]
    words += ["--exclude", 4, 5, "-k", 100, "--json"]
    said = json.loads(printed([watch, *words], capsys).out)
    with elasticrec_device.open(watch) as stream:
        plain = stream.recommend(vector=tmp_path / "me.vector", k=100)
    expected = [item.id for item in plain if item.id not in (2, 3, 4, 5)]
    assert [item["id"] for item in said["items"]] == expected


def test_text_ids_are_taken_as_they_are_and_unknown_ones_are_counted(tmp_path, capsys):
    path = tmp_path / "text.elastic"
    path.write_bytes(random_stream(5, n=40, id_kind=3).data)
    with elasticrec_device.open(path) as stream:
        known = stream.ids[1]
        expected = [item.id for item in stream.recommend([known], k=3)]
    said = printed([path, "--history", known, "7", "-k", 3], capsys)
    assert all(own in line for own, line in zip(expected, said.out.splitlines(), strict=True))
    assert said.err == "1 ids of the history are unknown\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--history", "x7"], "x7"),
        (["-k", "-1"], "k: found -1, expected a whole number, 0 or more"),
        (["--vector", "missing.vector"], "missing.vector"),
        (["--withdrawn", "{watch}"], "magic of the withdrawn items|magic, version"),
        (["--catalogue", "{watch}"], "SHA-256 of the catalogue"),
        (["--key", "00" * 32], "signature of the head: found none"),
        (["--key", "missing.pub"], "missing.pub"),
    ],
)
def test_what_cannot_be_is_an_error_in_one_line(watch, words, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([str(watch), *(word.format(watch=watch) for word in words)])
    said = capsys.readouterr()
    assert (stopped.value.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert any(part in said.err for part in message.split("|"))


def test_it_runs_as_a_module(watch):
    folder = Path(elasticrec_device.__file__).parent
    command = [sys.executable, "-m", "elasticrec_device", str(watch), "-k", "2"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert len(ran.stdout.splitlines()) == 2
    with elasticrec_device.open(watch) as stream:
        best = stream.recommend(k=1)[0]
    assert ran.stdout.split()[:3] == ["1", str(best.score), str(best.id)]
