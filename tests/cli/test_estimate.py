import json

from typer.testing import CliRunner

from elasticrec.blocks.folder import ModelFolder
from elasticrec.cli.main import app
from elasticrec.rule.estimator.model import Estimator

FEW = ("--samples", 40, "--users", 60, "--metric", "recall@10", "--device", "cpu")
FEW += ("--accounting", "paper")


def run(*arguments):
    return CliRunner().invoke(app, ["estimate", *map(str, arguments)])


def test_prints_how_well_it_orders_and_saves_what_search_needs(searchable):
    done = run(searchable.root, *FEW)
    assert done.exit_code == 0, done.output
    for word in ("measured recall@10", "two-fold", "held out, 10.92 KB", "Spearman", "d0"):
        assert word in done.output
    estimator = Estimator.load(searchable.path("estimator"))
    assert estimator.about["metric"] == "recall@10"
    found = CliRunner().invoke(app, ["search", str(searchable.root), "--budget", "12KB"])
    assert found.exit_code == 0, found.output


def test_json_holds_the_numbers_alone(searchable):
    done = run(searchable.root, *FEW, "--json", "--kind", "dnn")
    found = json.loads(done.stdout)
    assert found["kind"] == "dnn"
    assert found["chosen"] in found["trials"]
    assert found["within"]["10.92 KB"]["n"] == 200


def test_other_measurements_are_refused_until_told_to_restart(searchable):
    assert run(searchable.root, *FEW).exit_code == 0
    refused = run(searchable.root, *FEW, "--seed", 1)
    assert refused.exit_code == 2
    assert "another seed" in refused.stderr
    assert run(searchable.root, *FEW, "--seed", 1, "--restart").exit_code == 0


def test_weights_of_votes_go_by_the_metric_and_another_is_refused_untouched(searchable):
    few = ("--samples", 12, "--users", 30, "--device", "cpu")
    done = run(searchable.root, *few, "--metric", "ndcg@10")
    assert done.exit_code == 0, done.output
    assert ModelFolder.open(searchable.root).about["storing"]["metric"] == "ndcg@10"
    before = {path.name: path.read_bytes() for path in searchable.root.iterdir()}
    refused = run(searchable.root, *few, "--metric", "both@10")
    assert refused.exit_code == 2
    assert "another metric (ndcg@10, expected both@10)" in refused.stderr
    assert {path.name: path.read_bytes() for path in searchable.root.iterdir()} == before


def test_bad_input_is_one_line(searchable, tmp_path):
    for arguments, words in (
        ((tmp_path, *FEW), "not a model folder"),
        ((searchable.root, "--metric", "auc"), "unknown metric 'auc'"),
        ((searchable.root, "--kind", "cnn"), "expected fm or dnn"),
        ((searchable.root, "--accounting", "bits"), "expected file or paper"),
        ((searchable.root, "--preset", "none"), "no preset 'none'"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
