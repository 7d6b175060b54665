import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.space.composition import Composition, read_saved

FULL = 4 * 32 * 201  # 200 items and a user, 32 numbers each


def run(*arguments):
    return CliRunner().invoke(app, ["search", *map(str, arguments)])


def test_prints_every_method_with_its_size_and_estimate(searchable):
    done = run(searchable.root, "--budget", "12KB")
    assert done.exit_code == 0, done.output
    for word in ("budget 12 KB", "searched", "uniform", "best-of-random", "greedy", "recall@20"):
        assert word in done.output


def test_writes_a_composition_for_its_model_within_the_budget(searchable, tmp_path):
    out = tmp_path / "composition.json"
    assert run(searchable.root, "--budget", "12KB", "-o", out).exit_code == 0
    composition = Composition.load(out, model_id=searchable.model_id)
    about = read_saved(out)["about"]
    assert about["n_bytes"] == 128 + 40 * 32 * int(composition.kept.sum()) <= 12_000
    assert about["fixed_bytes"] + sum(about["group_bytes"]) == about["n_bytes"]
    assert about["estimate"] > 0
    counts = composition.kept.sum(axis=1)
    assert (np.diff(counts) <= 0).all()  # as its estimator prefers


def test_several_budgets_ascend_and_each_has_its_file(searchable, tmp_path):
    done = run(
        searchable.root, "--budget", "20KB", "--budget", "12KB", "--json",
        "-o", tmp_path / "c.json", "--trace", tmp_path / "t.jsonl",
    )  # fmt: skip
    listed = json.loads(done.output)["budgets"]
    assert [each["budget_bytes"] for each in listed] == [12_000, 20_000]
    best = [{f["method"]: f["estimate"] for f in each["found"]} for each in listed]
    assert best[0]["searched"] < best[1]["searched"]
    for values in best:
        assert values["searched"] == max(values.values())
    names = sorted(path.name for path in tmp_path.glob("?-*"))
    assert names == ["c-12KB.json", "c-20KB.json", "t-12KB.jsonl", "t-20KB.jsonl"]


def test_the_seed_decides(searchable, tmp_path):
    def traced(seed):
        run(searchable.root, "--budget", "12KB", "--seed", seed, "--trace", tmp_path / "t.jsonl")
        return (tmp_path / "t.jsonl").read_bytes()

    assert traced(1) == traced(1) != traced(2)


def test_measures_on_demand_and_refines(searchable):
    done = run(
        searchable.root, "--budget", "12KB", "--evaluate", "--refine", "5", "--greedy-measured",
        "--device", "cpu", "--json",
    )  # fmt: skip
    found = {f["method"]: f for f in json.loads(done.output)["budgets"][0]["found"]}
    assert set(found) == {"searched", "uniform", "best-of-random", "greedy", "greedy-measured"}
    assert all(0 < f["measured"] < 1 for f in found.values())
    table = run(searchable.root, "--budget", "12KB", "--evaluate", "--part", "validation").output
    assert "measured on validation" in table


def test_a_budget_above_the_full_size_says_so(searchable):
    done = run(searchable.root, "--budget", FULL)
    assert f"holds the full model of {FULL / 1000} KB" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "6KB"), "the smallest possible is 6.528 KB (6528 bytes)"),
        (("--budget", "lots"), "'lots' is no budget"),
        (("--budget", "12KB", "--accounting", "free"), "accounting 'free', expected one of paper"),
        (("--budget", "12KB", "--rounds", "0"), "rounds must be positive"),
        (("--budget", "12KB", "-o", "no/such/folder.json"), "folder"),
    ],
)
def test_bad_input_is_one_line(searchable, arguments, message):
    done = run(searchable.root, *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_a_model_without_an_estimator_is_refused_by_name(searchable):
    searchable._content["parts"].pop("estimator")
    searchable.describe()
    done = run(searchable.root, "--budget", "12KB")
    assert done.exit_code == 2
    assert "has no estimator; `elasticrec estimate` makes it" in done.output


def test_searching_imports_no_torch(searchable):
    code = (
        "import sys\n"
        "from elasticrec.cli.main import app\n"
        f"app(['search', {str(searchable.root)!r}, '--budget', '12KB'], standalone_mode=False)\n"
        "heavy = {'torch', 'scipy', 'sklearn', 'pandas', 'polars', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
