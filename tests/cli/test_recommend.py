"""`elasticrec recommend` on a saved model: lists with titles, CSV export, one-line errors."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.training.table import BlockTable
from elasticrec.cli.main import app
from elasticrec.data.ids import as_objects
from elasticrec.data.split import Split
from elasticrec.model import Model


@pytest.fixture(scope="module")
def model(planted: Split) -> Model:
    rng = np.random.default_rng(0)
    users = rng.standard_normal((planted.n_users, 8), dtype=np.float32)
    blocks = rng.standard_normal((planted.n_items, 2, 4), dtype=np.float32)
    titles = as_objects([f"[Book] №{i}" for i in range(planted.n_items)])
    return Model(replace(planted, titles=titles), BlockTable(blocks, users, base="mf"))


@pytest.fixture(scope="module")
def folder(model: Model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "books"
    model.save(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["recommend", *map(str, arguments)])


def test_lists_for_a_user_with_titles(model, folder) -> None:
    result = run(folder, "--user", 42, "-k", 3)
    assert result.exit_code == 0, result.output
    heading, *rows = (line.split() for line in result.stdout.splitlines())
    assert heading == ["item", "title", "score"]
    assert rows == [
        [str(place), str(found.id), *found.title.split(), f"{found.score:.4f}"]
        for place, found in enumerate(model.recommend(42, k=3), start=1)
    ]


def test_lists_for_items_as_json(model, folder) -> None:
    result = run(folder, "--items", "3, 5,8", "--exclude", "9,10", "--json")
    expected = model.recommend(items=[3, 5, 8], exclude=[9, 10])
    assert json.loads(result.stdout) == [asdict(found) for found in expected]
    assert len(expected) == 20


def test_without_titles_there_is_no_title_column(model, tmp_path) -> None:
    Model(replace(model.split, titles=None), model.table).save(tmp_path / "plain")
    result = run(tmp_path / "plain", "--user", 42, "-k", 1)
    assert result.stdout.splitlines()[0].split() == ["item", "score"]


def test_writes_lists_for_many_users(model, folder, tmp_path) -> None:
    pytest.importorskip("torch")
    users, out = tmp_path / "users.txt", tmp_path / "lists.csv"
    users.write_text("7\n\n 3 \n")
    result = run(folder, "--users-file", users, "-o", out, "-k", 2)
    assert result.stdout == f"wrote 4 recommendations for 2 users to {out}\n"
    with out.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["user", "place", "item", "score", "title"]
    expected = [
        [str(user), str(place), str(found.id), f"{found.score:.6g}", found.title]
        for user in (7, 3)
        for place, found in enumerate(model.recommend(user, k=2), start=1)
    ]
    assert rows == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "nobody"], "unknown user 'nobody'; expected one of 300 known ids such as 0, 1"),
        (["--items", "x,y"], "none of the items given is known; expected one of 200 known ids"),
        (["--items", ","], "none of the items given is known"),
        ([], "expected one of --user, --items, or --users-file with --out"),
        (["--user", "1", "--items", "2"], "expected one of --user, --items"),
        (["--user", "1", "-o", "lists.csv"], "expected one of --user, --items"),
        (["--user", "1", "-k", "0"], "k is 0, expected 1 or more"),
        (["--users-file", "nowhere.txt", "-o", "lists.csv"], "nowhere.txt: no such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    folder, arguments, message, monkeypatch, tmp_path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(folder, *arguments)
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert message in errors[0]
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_user_leaves_no_half_written_file(folder, tmp_path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "users.txt").write_text("7\nnobody\n")
    result = run(folder, "--users-file", tmp_path / "users.txt", "-o", tmp_path / "lists.csv")
    assert result.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["users.txt"]


def test_help_shows_an_example() -> None:
    assert "elasticrec recommend MODEL --items 1,2,3 -k 10" in run("--help").stdout
