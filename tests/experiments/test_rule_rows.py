"""RULE as an experiment: its rows, their names, and the products of Eq. 2 on the device."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.synthetic import planted_world
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.presets import PRESETS
from elasticrec.rule.randomizer import random_candidate, uniform
from elasticrec.space import Budget
from experiments import lines, rule
from tests.experiments.test_experiments import invoke


@pytest.fixture
def world(tmp_path):
    """A folder with a small `yelp2018.npz`."""
    split = planted_world(150, 200, 4_000, np.random.default_rng(0), n_clusters=6)
    replace(split, name="yelp2018").save(tmp_path / "yelp2018.npz")
    return tmp_path


def asked(world, variant):
    return rule.RuleTask("yelp2018", 0, world, "cpu", person="vector", method=variant,
                         samples=30, epochs=2)  # fmt: skip


@pytest.mark.parametrize("variant", ["printed", "our loss"])
def test_search_and_all_alike_are_measured_at_three_sizes(results, world, variant):
    invoke(rule.app, "--dataset", "yelp2018", "--data", world, "--variants", variant,
           "--samples", 30, "--epochs", 2)  # fmt: skip
    found = lines.read("rule")
    name = f"RULE, {variant} (30 samples, 2 epochs)"
    assert {line["method"] for line in found} == {f"{name}, searched", f"{name}, all alike"}
    assert {line["nominal_mb"] for line in found} == {5, 10, 25}
    assert all(line["file_bytes"] <= line["bytes_per_item"] * 200 + 1 for line in found)
    assert f"| Yelp2018 | {name} | 25 |" in rule.worth()
    assert f"25 MB: {name.removeprefix('RULE, ')} " in rule.verdict()


def test_a_row_that_is_as_printed_says_no_less():
    task = rule.RuleTask("yelp2018", 0, None, "cpu", method="printed")
    assert task.name == "RULE, printed"
    assert task.samples == 15_000
    assert PRESETS["paper-yelp"].rule.samples.n_users == 1_000


def test_lambda_as_printed_counts_by_sums_not_by_means(world):
    split = Split.load(world / "yelp2018.npz")
    (preset,) = rule.presets(asked(world, "printed"), split)
    assert preset.train.diversity == pytest.approx(1e-4 * 200 / len(split.train))
    assert preset.train.diversity_form == "printed"
    tried = [each.train.diversity for each in rule.presets(asked(world, "aligned"), split)]
    assert tried == [0.0, 1e-6, 1e-4, 1e-2]


def test_products_on_the_device_are_those_of_the_library(results, world):
    split, _ = by_popularity(Split.load(world / "yelp2018.npz"))
    task = asked(world, "printed")
    model, preset = rule.trained(task, split)
    found = rule.OnDevice(model, preset.rule, "cpu")
    users = found.users[:40]
    rng = np.random.default_rng(0)
    budget = Budget(round(54.6 * 200))
    for candidate in (uniform(found.space, budget), random_candidate(found.space, budget, rng)):
        expected = found.measure(candidate, users)
        got = found.measured(candidate, "validation", users, ("recall@100",))
        np.testing.assert_allclose(got.per_user["recall@100"], expected)
