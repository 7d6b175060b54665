"""The value on validation is the exact evaluation of the table that would be saved."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base
from elasticrec.training.state import TrainingState
from elasticrec.training.validation import Validation, final_vectors, folded

CONFIG = TrainConfig(base="mf", n_blocks=4, block_size=2, metric="recall@20", cooccurrence=0.0)
BASES = {
    "mf": CONFIG,
    "aggregated": replace(CONFIG, aggregation=True),
    "lightgcn": replace(CONFIG, base="lightgcn", layers=2),
    "history": replace(CONFIG, base="history"),
}


def made(split, config):
    return make_base(split.train, config, torch.Generator().manual_seed(0))


def table_of(base, config, split, exponent=0.0):
    """The table as `train` would leave it after no step at all."""
    config = replace(config, popularity_exponent=exponent)
    return TrainingState(split, config, base, torch.Generator()).finish()[0]


def exactly(table, config, split, users=None):
    """The metric of the table on validation, by the evaluator of saved models."""
    found = evaluate(
        table, split, part="validation", metrics=(config.metric,), users=users, device="cpu"
    )
    return found.metrics[config.metric]


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_the_value_is_that_of_the_table(planted, name, score):
    config = replace(BASES[name], score=score)
    base = made(planted, config)
    found = Validation(planted, config).value(base)
    wanted = exactly(table_of(base, config, planted), config, planted)
    assert found == pytest.approx(wanted, abs=1e-6)
    assert found > 0.1  # the spectral start knows this world a little


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_vectors_of_a_cosine_loss_are_units_as_they_are_scored(planted, name, score):
    config = replace(BASES[name], score=score)
    for vectors in final_vectors(made(planted, config), config):
        if vectors is not None:
            norms = folded(vectors, config).norm(dim=1)
            torch.testing.assert_close(norms, torch.ones_like(norms))


def test_vectors_of_bpr_keep_their_norms(planted):
    config = replace(CONFIG, loss="bpr", init="random", init_scale=3.0)
    base = made(planted, config)
    users, items = final_vectors(base, config)
    assert users is base.tables["users"]
    assert items is base.tables["items"]


def test_some_users_stand_for_all_the_same_ones_for_a_seed(planted):
    config = replace(CONFIG, validation_users=40)
    one, two = (Validation(planted, config).users for _ in range(2))
    other = Validation(planted, replace(config, seed=1)).users
    assert len(set(one.tolist())) == 40
    assert one.tolist() == sorted(one.tolist()) == two.tolist()
    assert one.tolist() != other.tolist()
    base = made(planted, config)
    found = Validation(planted, config).value(base)
    wanted = exactly(table_of(base, config, planted), config, planted, users=one)
    assert found == pytest.approx(wanted, abs=1e-6)


def test_without_validation_pairs_nothing_is_chosen(planted):
    nothing = Pairs(np.zeros(planted.n_users + 1, np.int64), np.zeros(0, np.int32), planted.n_items)
    split = replace(planted, validation=nothing)
    validation, base = Validation(split, CONFIG), made(split, CONFIG)
    assert validation.value(base) == 0
    assert validation.choose_exponent(base) is None


@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_leads_of_exponents_are_those_of_the_tables(planted, score):
    config = replace(CONFIG, score=score)
    base = made(planted, config)
    choice = Validation(planted, config).choose_exponent(base)
    assert set(choice.leads) <= {f"{exponent:g}" for exponent in config.exponents}
    plain = exactly(table_of(base, config, planted), config, planted)
    for name, (lead, _) in choice.leads.items():
        found = exactly(table_of(base, config, planted, float(name)), config, planted)
        assert found == pytest.approx(plain * (1 + lead), abs=2e-6)


def test_larger_exponents_are_not_tried_after_some_that_are_no_better(planted):
    config = replace(CONFIG, exponents=(0.0, 8.0, 9.0, 10.0, 11.0))  # popularity alone is worse
    tried = [
        list(Validation(planted, each).choose_exponent(made(planted, each)).leads)
        for each in (config, replace(config, exponent_patience=3))
    ]
    assert tried == [["0", "8", "9"], ["0", "8", "9", "10"]]


def test_popularity_is_taken_where_vectors_hardly_differ(planted):
    base = made(planted, replace(CONFIG, init="random"))
    for table in base.tables.values():
        table.mul_(0.05).add_(1.0)
    choice = Validation(planted, CONFIG).choose_exponent(base)
    assert float(choice.chosen) > 0
    assert choice.leads[choice.chosen][1] > 0
