"""`python -m elasticrec_device`: what it prints, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import elasticrec_device
from elasticrec_device import main

GOLDEN = Path(__file__).parents[2] / "device" / "conformance"
NEIGHBOURS, STRINGS = str(GOLDEN / "neighbours.elastic"), str(GOLDEN / "strings.elastic")
CATALOGUE = str(GOLDEN / "neighbours.catalogue.json")


def test_prints_a_line_for_each_item(capsys):
    bundle = elasticrec_device.open(NEIGHBOURS)
    some = [str(item.id) for item in bundle.recommend(k=3)]
    main([NEIGHBOURS, "--history", *some, "-k", "4", "--why", "--catalogue", CATALOGUE])
    lines = capsys.readouterr().out.splitlines()
    bundle.catalogue(CATALOGUE)
    found = bundle.recommend(map(int, some), k=4, why=True)
    assert len(lines) == len(found) == 4
    for place, (line, item) in enumerate(zip(lines, found, strict=True), start=1):
        assert line.split()[:3] == [str(place), f"{item.score:.4f}", str(item.id)]
        assert (item.title or "") in line
        assert ("because of" in line) == (item.why is not None)


def test_json_holds_the_list_and_the_bundle(capsys):
    name = elasticrec_device.open(STRINGS).recommend(k=1)[0].id
    main([STRINGS, "--history", name, "no such id", "--exclude", "nor this", "--json"])
    said = json.loads(capsys.readouterr().out)
    found = elasticrec_device.open(STRINGS).recommend([name])
    assert [each["id"] for each in said["items"]] == [item.id for item in found]
    assert [each["score"] for each in said["items"]] == [item.score for item in found]
    assert said["unknown"] == 1
    assert said["bundle"]["ids"] == "strings"


def test_unknown_ids_are_mentioned_beside_the_list(capsys):
    main([NEIGHBOURS, "--history", "1", "-k", "2"])
    said = capsys.readouterr()
    assert said.err == "1 ids of the history are unknown\n"
    assert len(said.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([str(GOLDEN / "none.elastic")], "No such file"),
        ([str(GOLDEN / "mixed.vector")], "magic"),
        ([NEIGHBOURS, "--history", "one"], "'one'"),
        ([NEIGHBOURS, "--vector", str(GOLDEN / "foreign.vector")], "the person's vector"),
        ([STRINGS, "--catalogue", CATALOGUE], "catalogue"),
        ([NEIGHBOURS, "-k", "-3"], "0 or more, got -3"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert message in said.err
    assert said.err.count("\n") == 1


def test_runs_as_a_module_and_explains_itself():
    folder = str(Path(elasticrec_device.__file__).parent)
    env = {"PYTHONPATH": folder, "PATH": os.environ["PATH"], "COLUMNS": "100"}
    command = [sys.executable, "-m", "elasticrec_device", "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    for option in ("--history", "--vector", "-k", "--exclude", "--why", "--catalogue", "--json"):
        assert option in done.stdout
    assert "dense" in done.stdout
