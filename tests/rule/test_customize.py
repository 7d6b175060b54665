import json
import logging
import shutil
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.rule.config import RuleConfig, SearchConfig
from elasticrec.rule.customize import Rule
from elasticrec.rule.evolution import Seen
from elasticrec.rule.search_space import uniform
from elasticrec.space import Budget
from elasticrec.stream.chunk import read_index

from .conftest import half_way
from .model import PRINTED, QUICK, make_model


@pytest.fixture(scope="module")
def made_once(planted, tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("rule") / "model", planted).root


@pytest.fixture
def model(made_once, tmp_path):
    shutil.copytree(made_once, tmp_path / "model")
    return Model.open(tmp_path / "model")


def test_a_stream_of_one_budget_is_written(model, tmp_path):
    rule = Rule(model, QUICK, device="cpu")
    budget = half_way(rule.space)
    made = rule.customize(budget)
    rule.save(made, tmp_path / "one.elastic")
    index = read_index(tmp_path / "one.elastic")
    assert (tmp_path / "one.elastic").stat().st_size == made.n_bytes <= budget.n_bytes
    assert index.head.model_id.hex() == model.id
    assert index.head.least == index.head.length == made.n_bytes
    assert made.n_bytes > 0.9 * budget.n_bytes
    assert set(made.measured) == {"chosen", "uniform"}
    again = Rule(model, QUICK, device="cpu").customize(budget)
    assert np.array_equal(again.candidate, made.candidate)


def test_what_is_measured_is_chosen_and_uniform_on_other_users(model):
    rule = Rule(model, QUICK, device="cpu")
    assert not set(rule.users) & set(rule.deciders)
    assert (model.split.validation.per_user[np.r_[rule.users, rule.deciders]] > 0).all()
    budget = half_way(rule.space)
    made = rule.customize(budget)
    even = rule.measure(uniform(rule.space, budget), rule.deciders).mean()
    assert made.measured["uniform"] == pytest.approx(even)
    taken = rule.measure(made.candidate, rule.deciders).mean()
    assert made.measured["chosen"] == pytest.approx(taken)
    assert made.validation_users == len(rule.deciders)


def test_everyone_decides_where_few_are_left(model):
    config = replace(QUICK, samples=replace(QUICK.samples, n_users=250))
    rule = Rule(model, config, device="cpu")
    assert len(rule.users) == 250
    assert len(rule.deciders) == 200


class Measured:
    """Qualities by candidate, the same for every user but for a little chance."""

    def __init__(self, of_candidate):
        self.of_candidate, self.asked = of_candidate, []

    def __call__(self, candidate, users):
        self.asked.append(candidate.tolist())
        noise = np.random.default_rng(len(self.asked)).normal(0, 0.05, 200)
        return self.of_candidate(candidate) + noise


@pytest.mark.parametrize(("lead", "taken"), [(0.1, [4, 1]), (0.0, [2, 2]), (-0.1, [2, 2])])
def test_only_a_clear_lead_replaces_uniform(model, lead, taken):
    rule = Rule(model, QUICK, device="cpu")
    even = np.array([2, 2])
    found = [Seen(np.array(c), y, -1, "random") for c, y in (([4, 1], 9.0), ([3, 1], 8.0))]
    rule.measure = Measured(lambda c: 0.5 + lead * (c[0] == 4) - 0.2 * (c[0] == 3))
    candidate, why, measured = rule._decided(found, even)
    assert candidate.tolist() == taken
    assert rule.measure.asked == [[4, 1], [3, 1], [2, 2]]
    assert ("default" in why) == (taken == [2, 2])
    assert measured["uniform"].mean() == pytest.approx(0.5, abs=0.02)


def test_as_printed_the_estimate_decides(model):
    rule = Rule(model, replace(QUICK, search=SearchConfig.printed()), device="cpu")
    found = [Seen(np.array([4, 1]), 9.0, -1, "random")]
    rule.measure = Measured(lambda c: 0.1 * c[1])
    candidate, why, measured = rule._decided(found, np.array([2, 2]))
    assert candidate.tolist() == [4, 1]
    assert "the highest estimate" in why
    assert measured["chosen"].mean() < measured["uniform"].mean()


def test_samples_and_estimator_are_made_once(model):
    first = Rule(model, QUICK, device="cpu").estimator()
    rule = Rule(model, QUICK, device="cpu")
    rule.measure = None  # whoever measures again fails
    again = rule.estimator()
    assert again.about["metric"] == "recall@20"
    assert all(np.array_equal(again.weights[name], first.weights[name]) for name in first.weights)


def test_more_samples_go_on_where_the_last_run_ended(model):
    Rule(model, QUICK, device="cpu").estimator()
    more = replace(QUICK, samples=replace(QUICK.samples, n_samples=33))
    rule = Rule(model, more, device="cpu")
    asked, measure = [], rule.measure

    def counted(candidate, users):
        asked.append(candidate)
        return measure(candidate, users)

    rule.measure = counted
    rule.estimator()
    assert len(asked) == 3


def test_another_metric_or_other_codes_start_anew(model):
    Rule(model, QUICK, device="cpu").estimator()
    before = model.hash_of("samples")
    config = replace(QUICK, samples=replace(QUICK.samples, metric="ndcg@20"))
    Rule(model, config, device="cpu").estimator()
    assert model.hash_of("samples") != before
    order = model.order
    model.save_part("order", replace(order, least=2))
    with pytest.raises(InputError, match="made from another order"):
        model.check("samples")


def test_a_budget_that_holds_everything_says_so(model):
    rule = Rule(model, QUICK, device="cpu")
    made = rule.customize(Budget(10 * rule.space.full.n_bytes))
    assert made.counts == [rule.space.most] * 4
    assert made.n_bytes == rule.space.full.n_bytes
    assert "everything, which takes" in made.chosen_by


def test_a_budget_below_the_smallest_is_refused_before_anything_is_measured(model):
    rule = Rule(model, QUICK, device="cpu")
    rule.measure = None
    with pytest.raises(InputError, match="smallest possible"):
        rule.customize(Budget(300))


@pytest.mark.parametrize("users", [True, False])
def test_the_papers_space_saves_the_blocks_kept(planted, tmp_path, users):
    model = make_model(tmp_path / "model", planted, users=users)
    rule = Rule(model, PRINTED, device="cpu")
    budget = half_way(rule.space)
    made = rule.customize(budget)
    rule.save(made, tmp_path / "kept.npz")
    with np.load(tmp_path / "kept.npz", allow_pickle=False) as stored:
        kept, group_of_item = stored["kept"], stored["group_of_item"]
        about = json.loads(str(stored["about"]))
    assert kept.shape == (4, 4)
    assert kept.any(axis=1).all()
    blocks = kept.sum(axis=1)
    assert about["counts"] == blocks.tolist() == made.counts
    sizes = np.bincount(group_of_item)
    assert made.n_bytes == 4 * 8 * 4 + int((blocks * sizes).sum()) * 8 * 4 <= budget.n_bytes
    assert about["measured"]["chosen"] > 0


def test_an_estimator_is_judged_within_a_budget(model):
    rule = Rule(model, QUICK, device="cpu")
    found = rule.agreement(half_way(rule.space), 8)
    assert found["n"] == 8
    assert found["rmse"] < 0.1
    assert -1 <= found["spearman"] <= 1


def test_it_says_what_it_measures(model, caplog):
    with caplog.at_level(logging.INFO, logger="elasticrec"):
        Rule(model, QUICK, device="cpu").estimator()
    assert "measuring 30 compositions on 60 users" in caplog.messages
    assert RuleConfig.printed().samples.n_samples == 15_000
