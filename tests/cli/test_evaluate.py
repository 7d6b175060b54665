"""`elasticrec evaluate` on a saved model: what it prints, writes, compares and refuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.training.table import BlockTable
from elasticrec.cli.main import app
from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import evaluate
from elasticrec.model import Model

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tables(planted: Split) -> list[BlockTable]:
    rng = np.random.default_rng(0)
    shapes = [(planted.n_users, 8), (planted.n_items, 2, 4)]
    drawn = [[rng.standard_normal(shape, dtype=np.float32) for shape in shapes] for _ in range(2)]
    return [BlockTable(blocks, users, base="mf") for users, blocks in drawn]


@pytest.fixture(scope="module")
def folders(planted: Split, tables, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name, table in zip("ab", tables, strict=True):
        Model(planted, table).save(root / name)
    return root


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_prints_a_table(planted, tables, folders) -> None:
    expected = evaluate(tables[0], planted, metrics=["recall@7", "ndcg@50"], device="cpu")
    result = run(folders / "a", "--metric", "recall@7", "--metric", "ndcg@50")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0][:3] == ["Test,", str(expected.n_users), "users"]
    assert lines[1] == ["recall@7", f"{expected.metrics['recall@7']:.4f}"]
    assert lines[2] == ["ndcg@50", f"{expected.metrics['ndcg@50']:.4f}"]
    assert lines[3] == ["coverage", f"{expected.coverage:.4f}"]


def test_prints_json_of_the_validation_part(planted, tables, folders) -> None:
    expected = evaluate(tables[0], planted, part="validation", metrics=["hit@9"], device="cpu")
    result = run(folders / "a", "--part", "validation", "--metric", "hit@9", "--json")
    assert json.loads(result.stdout) == {
        "part": "validation",
        "metrics": expected.metrics,
        "coverage": expected.coverage,
        "n_users": expected.n_users,
    }


def test_ranks_from_histories(planted, tables, folders) -> None:
    expected = evaluate(tables[0], planted, metrics=["hit@9"], histories=planted.train)
    found = json.loads(run(folders / "a", "--history", "--metric", "hit@9", "--json").stdout)
    assert found["metrics"] == expected.metrics


def test_writes_every_users_values(planted, tables, folders, tmp_path) -> None:
    out = tmp_path / "values.csv"
    result = run(folders / "a", "--metric", "recall@7", "--per-user", out)
    assert result.exit_code == 0, result.output
    expected = evaluate(tables[0], planted, metrics=["recall@7"], keep_per_user=True)
    with out.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["user", "recall@7"]
    assert [int(row[0]) for row in rows] == planted.user_ids.take(expected.users).values.tolist()
    assert [float(row[1]) for row in rows] == expected.per_user["recall@7"].tolist()


def test_compares_two_models(folders) -> None:
    arguments = [folders / "a", "--compare", folders / "b", "--metric", "recall@7"]
    found = json.loads(run(*arguments, "--json").stdout)
    test = found["t_tests"]["recall@7"]
    difference = found["metrics"]["recall@7"] - found["other"]["metrics"]["recall@7"]
    assert test["difference"] == pytest.approx(difference)
    assert 0 < test["p"] < 1
    shown = run(*arguments)
    heading, row = (line.split() for line in shown.stdout.splitlines()[:2])
    assert heading[-5:] == ["model", "other", "difference", "t", "p"]
    assert row[1:] == [
        f"{found['metrics']['recall@7']:.4f}",
        f"{found['other']['metrics']['recall@7']:.4f}",
        f"{difference:+.4f}",
        f"{test['t']:.2f}",
        f"{test['p']:.2g}",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "precision@5"], "unknown metric 'precision@5'; expected recall, ndcg, hit"),
        (["--per-user", "nowhere/values.csv"], "there is no folder nowhere"),
        (["--compare", "nowhere"], "nowhere is not a model folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folders, arguments, message) -> None:
    result = run(folders / "a", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_help_shows_an_example() -> None:
    shown = run("--help").stdout
    assert "elasticrec evaluate MODEL --metric recall@50" in shown
