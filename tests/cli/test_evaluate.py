"""`elasticrec evaluate`: the numbers of the library, beside baselines and another model."""

import csv
from statistics import mean

import pytest

from elasticrec.evaluation.ranking import evaluate as evaluate_table
from elasticrec.space import Budget
from elasticrec.stream.curve import evaluate_stream
from tests.cli.running import refused, run, run_json

pytest.importorskip("torch")


def test_a_file_stands_beside_the_vectors_and_popularity(tiny_model):
    asked = ("evaluate", tiny_model.root, "-b", "5KB", "--metric", "recall@7", "--metric", "hit@9")
    metrics = ("recall@7", "hit@9")
    stream = evaluate_stream(tiny_model, Budget(5_000), metrics=metrics)
    vectors = evaluate_table(tiny_model.table, tiny_model.split, metrics=metrics)
    found = run_json(*asked)
    assert (found["part"], found["n_users"]) == ("test", stream.n_users)
    assert found["stream"] == stream.metrics
    assert found["vectors"] == vectors.metrics
    assert found["popularity"]["recall@7"] < found["stream"]["recall@7"]
    lines = [line.split() for line in run(*asked).splitlines()]
    names = ["stream", "vectors", "itemknn", "popularity"]
    assert lines[0] == ["Test,", str(stream.n_users), "users", *names]
    values = [f"{found[name]['recall@7']:.4f}" for name in names]
    assert lines[1] == ["recall@7", *values]


def test_the_whole_stream_is_as_good_as_its_curve_says(tiny_model):
    found = run_json("evaluate", tiny_model.root, "--part", "validation", "--metric", "recall@50")
    curve = tiny_model.curve
    assert found["n_users"] == curve["users"]
    assert found["stream"]["recall@50"] == pytest.approx(curve["points"][-1]["recall@50"], abs=1e-6)
    assert found["popularity"]["recall@50"] == pytest.approx(
        curve["popularity"]["recall@50"], abs=1e-6
    )


def test_every_users_values_go_to_a_csv(tiny_model, tmp_path):
    out = tmp_path / "values.csv"
    asked = ("evaluate", tiny_model.root, "--metric", "recall@7", "--per-user", out)
    found = run_json(*asked)
    with out.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["user", "recall@7"]
    assert len(rows) == found["n_users"]
    assert {int(row[0]) % 7 for row in rows} == {0}
    assert mean(float(row[1]) for row in rows) == pytest.approx(found["stream"]["recall@7"])


def test_two_models_are_compared_user_by_user(tiny_model, tiny_vectors):
    asked = ("evaluate", tiny_model.root, "--compare", tiny_vectors.root, "--metric", "recall@7")
    found = run_json(*asked)
    test = found["t_tests"]["recall@7"]
    difference = found["stream"]["recall@7"] - found["other"]["recall@7"]
    assert test["difference"] == pytest.approx(difference)
    assert 0 < test["p"] <= 1
    heading, row = (line.split() for line in run(*asked).splitlines()[:2])
    assert heading[-3:] == ["other", "difference", "p"]
    assert row[-2:] == [f"{difference:+.4f}", f"{test['p']:.2g}"]


def test_what_all_lists_have_together_has_no_t_test(tiny_model):
    asked = ("evaluate", tiny_model.root, "--compare", tiny_model.root)
    metrics = ("--metric", "coverage@9", "--metric", "map@9", "--metric", "diversity@9")
    found = run_json(*asked, *metrics)
    assert set(found["t_tests"]) == {"map@9", "diversity@9"}
    assert 0 < found["popularity"]["coverage@9"] < found["stream"]["coverage@9"] <= 1
    lines = [line.split() for line in run(*asked, *metrics).splitlines()]
    assert [(line[0], len(line)) for line in lines[1:]] == [
        ("coverage@9", 6),
        ("map@9", 8),
        ("diversity@9", 8),
    ]


def test_a_model_beside_itself_does_not_differ(tiny_model):
    asked = ("evaluate", tiny_model.root, "--compare", tiny_model.root, "--metric", "recall@7")
    assert run_json(*asked)["t_tests"]["recall@7"]["difference"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--metric", "precision@5"],
            "unknown metric 'precision@5'; expected recall, ndcg, hit, mrr",
        ),
        (["--metric", "recall@0"], "recall@0"),
        (["--per-user", "nowhere/values.csv"], "there is no folder nowhere"),
        (["--compare", "nowhere"], "nowhere: is no model"),
        (["--budget", "9"], "smallest useful size of this stream is"),
        (["--device", "tpu"], "tpu"),
    ],
)
def test_bad_input_is_one_line(tiny_model, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("evaluate", tiny_model.root, *words)
    assert not list(tmp_path.iterdir())


def test_a_stream_is_no_model(tiny_model):
    assert "is no model, expected a folder" in refused("evaluate", tiny_model.stream_path)
