"""RULE as an experiment: its rows, their names, and the products of Eq. 2 on the device."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.synthetic import planted_world
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.presets import PRESETS
from elasticrec.rule.free_blocks import masked_items
from elasticrec.rule.samples import Samples
from elasticrec.rule.search_space import random_candidate, uniform
from elasticrec.space import Budget
from experiments import lines, rule
from experiments.searching import Elastic
from tests.experiments.test_experiments import invoke


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A folder with a small `yelp2018.npz`; estimators are fitted in few steps."""
    paper = PRESETS["paper-yelp"]
    few = replace(paper.rule, estimator=replace(paper.rule.estimator, steps=10))
    monkeypatch.setitem(PRESETS, "paper-yelp", replace(paper, rule=few))
    monkeypatch.setattr(rule, "JUDGES", 10)
    split = planted_world(150, 200, 4_000, np.random.default_rng(0), n_clusters=6)
    replace(split, name="yelp2018").save(tmp_path / "yelp2018.npz")
    return tmp_path


def asked(world, variant, **more):
    return rule.RuleTask("yelp2018", 0, world, "cpu", person="vector", method=variant,
                         **{"samples": 30, "epochs": 2} | more)  # fmt: skip


def elastic(world, variant):
    task = asked(world, variant)
    split, _ = by_popularity(Split.load(task.path))
    table = rule.best_table(task, split)[1]
    return Elastic(split, table, rule.config_of(task), "cpu")


@pytest.mark.parametrize("variant", ["printed", "our loss"])
def test_search_and_all_alike_are_measured_at_three_sizes(results, world, variant):
    told = invoke(rule.app, "--dataset", "yelp2018", "--data", world, "--variants",
                  f"{variant};one size, {'BPR' if variant == 'printed' else variant}",
                  "--samples", 30, "--epochs", 2)  # fmt: skip
    found = lines.read("rule")
    name = f"RULE, {variant} (30 samples, 2 epochs)"
    one = {line["method"] for line in found if "one size" in line["method"]}
    assert {line["method"] for line in found} - one == {f"{name}, searched", f"{name}, all alike"}
    assert len(one) == 1
    assert {line["nominal_mb"] for line in found} == {5, 10, 25}
    assert all(line["file_bytes"] <= line["bytes_per_item"] * 200 + 1 for line in found)
    assert f"| Yelp2018 | {name} | 25 | 1 |" in rule.worth()
    assert f"25 MB: {name.removeprefix('RULE, ')} " in rule.verdict()
    assert f"plan: {variant}, 1 tasks" in told


def test_figures_of_the_paper_share_one_table_and_its_samples(results, world):
    wanted = ["printed", "printed, DNN", "printed, G = 5", "printed, groups by cluster"]
    asked_for = ("--dataset", "yelp2018", "--data", world, "--epochs", 2)
    invoke(rule.app, *asked_for, "--variants", ";".join(wanted), "--samples", "30,40")
    assert len(list((results.parent / "tables").glob("*.safetensors"))) == 1
    kept = [len(Samples.load(path)) for path in (results.parent / "samples").iterdir()]
    assert sorted(kept) == 3 * 3 * [10] + 3 * [40]  # random groups, five groups, clusters
    assert "| Yelp2018 | RULE, printed, DNN (30 samples, 2 epochs) | 1 |" in rule.ablation()
    assert "| Yelp2018 | 40 | 1 |" in rule.estimator()
    assert "G = 5 (40 samples" in rule.sweep("G")
    assert set(rule._drawn()["groups"]["yelp2018"]) == {5.0, 20.0}


@pytest.mark.parametrize("name", ["nothing", "printed, H = 4", "one size", "one size, λ = 0"])
def test_a_variant_that_does_not_exist_is_refused(name):
    with pytest.raises(InputError, match="no variant of RULE is called"):
        rule.variants_of(name)
    assert rule.variants_of("main;printed, N = 4") == (*rule.MAIN, "printed, N = 4")


def test_a_row_that_is_as_printed_says_no_less():
    task = rule.RuleTask("yelp2018", 0, None, "cpu", method="printed")
    assert task.name == "RULE, printed"
    assert task.samples == 15_000
    config = rule.config_of(task)
    assert (config.samples.n_users, config.samples.metric) == (1_000, "recall@100")
    assert config == PRESETS["paper-yelp"].rule


def test_lambda_as_printed_counts_by_sums_not_by_means(world):
    split = Split.load(world / "yelp2018.npz")
    (config,) = rule.trainings(asked(world, "printed"), split)
    assert config.diversity == pytest.approx(1e-4 * 200 / len(split.train))
    assert config.diversity_form == "printed"
    tried = [each.diversity for each in rule.trainings(asked(world, "aligned"), split)]
    assert tried == [0.0, 1e-6, 1e-4, 1e-2]
    (config,) = rule.trainings(asked(world, "aligned, λ = 0"), split)
    assert config.diversity == 0


@pytest.mark.parametrize("variant", ["printed", "aligned, λ = 0", "our loss"])
def test_samples_are_measured_as_the_library_measures(results, world, variant):
    found = elastic(world, variant)
    rng, budget = np.random.default_rng(0), Budget(round(54.6 * 200))
    users = found.sampled.numbers
    for candidate in (uniform(found.space, budget), random_candidate(found.space, budget, rng)):
        ranked = found.measured(candidate, "validation", ("recall@100",), users)
        assert found.sampled.recall(candidate) == pytest.approx(ranked.metrics["recall@100"])
        if variant == "our loss":
            continue
        items = masked_items(found.table, found.space.group, candidate, found.split.train.per_item)
        np.testing.assert_allclose(found.items(candidate).numpy(), items, rtol=1e-4, atol=1e-6)
    assert 0 < ranked.metrics["recall@100"] < 1
    sampled = found.sampled
    sampled.k = 3  # chunks are looked at first where there are more of them than a list has items
    ranked = found.measured(candidate, "validation", ("recall@3",), users)
    assert sampled.recall(candidate) == pytest.approx(ranked.metrics["recall@3"])
