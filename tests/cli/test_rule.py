import json

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.model import Model
from elasticrec.stream.chunk import read_index
from tests.rule.model import make_model

QUICK = [
    *("--samples", "12", "--metric", "recall@20", "--device", "cpu"),
    *("--set", "rule.space.n_groups=4", "--set", "rule.search.rounds=10"),
    *("--set", "rule.estimator.steps=20", "--set", "rule.estimator.l2s=0.01"),
    *("--set", "rule.samples.n_users=40", "--set", "rule.search.n_users=60"),
]


@pytest.fixture(scope="module")
def model(planted, tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("cli") / "model", planted, users=True).root


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["rule", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_a_stream_within_the_budget_is_written(model, tmp_path):
    out = tmp_path / "one.elastic"
    text = run("customize", model, "--budget", "8KB", "-o", out, *QUICK)
    assert f"{out}: {out.stat().st_size:,} of 8,000 bytes" in text
    assert "measured on 60 validation users (all groups alike: 0." in text
    assert "levels of" in text
    head = read_index(out).head
    assert head.length == out.stat().st_size <= 8_000
    assert head.model_id.hex() == Model.open(model).id


def test_as_printed_blocks_are_counted_by_the_paper(model, tmp_path):
    out = tmp_path / "kept.npz"
    told = run("customize", model, "-b", "20KB", "-o", out, "--printed", "--json", *QUICK)
    facts = json.loads(told.splitlines()[-1])
    kept = np.load(out)["kept"]
    assert kept.sum(axis=1).tolist() == facts["counts"]
    assert facts["n_bytes"] <= facts["budget_bytes"] == 20_000
    assert "the highest estimate" in facts["chosen_by"]
    assert set(facts["measured"]) == {"chosen", "uniform"}


def test_estimate_judges_within_a_budget(model):
    text = run("estimate", model, "--budget", "8KB", "--held-out", "5", *QUICK)
    assert "recall@20 of 12 compositions" in text
    assert "within 8 KB: off by 0." in text
    told = json.loads(run("estimate", model, "--json", *QUICK).splitlines()[-1])
    assert told["n_samples"] == 12
    assert told["within"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "5XB"], "'5XB' is not a size"),
        (["--budget", "300"], "the smallest possible is"),
        (["--budget", "5KB", "--printed", "--preset", "default"], "one of the paper's"),
        (["--budget", "5KB", "--set", "rule.space.groups=random"], "levels group items"),
        (["--budget", "5KB", "--metric", "auc"], "auc"),
    ],
)
def test_bad_input_is_one_line(model, tmp_path, arguments, message, capsys):
    text = run("customize", model, "-o", tmp_path / "x.elastic", *arguments, code=2)
    assert message in text
    assert len(text.strip().splitlines()) == 1
    assert not (tmp_path / "x.elastic").exists()


def test_help_tells_what_the_paper_calls_it():
    assert "Alg. 2" in run("--help")
    assert "--printed" in run("customize", "--help")
