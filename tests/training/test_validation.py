"""What early stopping watches is the exact evaluation of the table that would be saved."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base, make_table
from elasticrec.training.validation import EXPONENTS, Validation

CONFIG = TrainConfig(n_blocks=4, block_size=2)
BASES = {
    "mf": CONFIG,
    "aggregated": replace(CONFIG, aggregation=True),
    "lightgcn": replace(CONFIG, base="lightgcn", layers=2),
    "history": replace(CONFIG, base="history"),
}


def made(split, config):
    return make_base(split.train, config, torch.Generator().manual_seed(0))


def exactly(base, config, split, gain=None, users=None):
    """The metric of the table on validation, by the evaluator of saved models."""
    table = make_table(base, config, split.train, gain)
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
    assert found == pytest.approx(exactly(base, config, planted), abs=1e-6)
    assert found > 0.1  # the spectral start knows this world a little


def test_some_users_stand_for_all_the_same_ones_for_a_seed(planted):
    config = replace(CONFIG, validation_users=40)
    one, two = (Validation(planted, config).asked.users for _ in range(2))
    other = Validation(planted, replace(config, seed=1)).asked.users
    assert len(set(one.tolist())) == 40
    assert one.tolist() == sorted(one.tolist()) == two.tolist()
    assert one.tolist() != other.tolist()
    base = made(planted, config)
    found = Validation(planted, config).value(base)
    assert found == pytest.approx(exactly(base, config, planted, users=one), abs=1e-6)


def test_without_validation_pairs_there_is_nothing_to_watch(planted):
    nothing = Pairs(np.zeros(planted.n_users + 1, np.int64), np.zeros(0, np.int32), planted.n_items)
    split = replace(planted, validation=nothing)
    validation, base = Validation(split, CONFIG), made(split, CONFIG)
    assert validation.value(base) == 0
    assert validation.best_gain(base) == (0.0, None)


def test_a_gain_scales_items_by_popularity(planted):
    config = replace(CONFIG, popularity_gain=0.1)
    base, validation = made(planted, config), Validation(planted, config)
    exponent, gain = validation.best_gain(base)
    popularity = planted.train.per_item + 1.0
    wanted = (popularity / popularity.max()) ** 0.1
    assert exponent == 0.1
    np.testing.assert_allclose(gain.numpy(), wanted, rtol=1e-5)
    found = validation.value(base, gain)
    assert found == pytest.approx(exactly(base, config, planted, gain), abs=1e-6)


def test_a_gain_of_zero_is_none(planted):
    config = replace(CONFIG, popularity_gain=0.0)
    assert Validation(planted, config).best_gain(made(planted, config)) == (0.0, None)


def test_a_chosen_gain_is_better_than_its_neighbours(planted):
    base, validation = made(planted, CONFIG), Validation(planted, CONFIG)
    exponent, gain = validation.best_gain(base)
    best, place = validation.value(base, gain), EXPONENTS.index(exponent)
    for other in EXPONENTS[max(0, place - 1) : place + 3]:
        assert validation.value(base, validation._gain(other, base)) <= best
