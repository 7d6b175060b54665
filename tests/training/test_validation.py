"""The value on validation is the exact evaluation of the table that would be saved."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.bases import History
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base
from elasticrec.training.state import TrainingState
from elasticrec.training.table import folded
from elasticrec.training.validation import Validation, final_vectors

CONFIG = TrainConfig(base="mf", n_blocks=4, block_size=2, metric="recall@20", cooccurrence=0.0)
BASES = {
    "mf": CONFIG,
    "lightgcn": replace(CONFIG, base="lightgcn", layers=2),
    "history": replace(CONFIG, base="history"),
}


def made(split, config):
    return make_base(split.train, config, torch.Generator().manual_seed(0))


def table_of(base, config, split, exponent=0.0):
    """The table as `train` would leave it after no step at all."""
    config = replace(config, popularity_exponent=exponent)
    return TrainingState(split, config, base, torch.Generator()).validation.table(base)[0]


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
    config = replace(CONFIG, exponents=(0.0, 7.0, 8.0, 9.0, 10.0))  # popularity alone is worse
    tried = [
        list(Validation(planted, each).choose_exponent(made(planted, each)).leads)
        for each in (config, replace(config, exponent_patience=3))
    ]
    assert tried == [["0", "7", "8"], ["0", "7", "8", "9"]]


def test_popularity_is_taken_where_vectors_hardly_differ(planted):
    base = made(planted, replace(CONFIG, init="random"))
    for table in base.tables.values():
        table.mul_(0.05).add_(1.0)
    choice = Validation(planted, CONFIG).choose_exponent(base)
    assert float(choice.chosen) > 0
    assert choice.leads[choice.chosen][1] > 0


def tastes(n_users, steps, rng):
    """Users who walk to the next of 20 topics every so many steps; items are near their topic."""
    topics = np.repeat(np.arange(20), 10)
    items = np.eye(20)[topics] + 0.1 * rng.normal(size=(200, 20))
    parts = {"train": [], "validation": []}
    for user in range(n_users):
        start = int(rng.integers(20))
        line = [10 * ((start + step // steps) % 20) + int(rng.integers(10)) for step in range(12)]
        line = list(dict.fromkeys(line))
        for name, some, first in (("train", line[:-2], 0), ("validation", line[-2:], 99)):
            place = np.arange(len(some)) + first
            rows = np.column_stack([np.full(len(some), user), some, place])
            parts[name].append(rows)
    made = {}
    for name, rows in parts.items():
        users, taken, place = np.concatenate(rows).T
        made[name] = Pairs.from_arrays(
            users, taken, n_users=n_users, n_items=200, order=place.astype(np.int32)
        )
    empty = Pairs(np.zeros(n_users + 1, np.int64), np.zeros(0, np.int32), 200)
    split = Split(**made, test=empty, user_ids=Ids.dense(n_users), item_ids=Ids.dense(200))
    return split, items.astype(np.float32)


RECENT = TrainConfig(n_blocks=5, block_size=4, metric="recall@20", cooccurrence=0.0)


def recency_of(items, split):
    """The choice of the recency, and the recency that is used after it."""
    validation = Validation(split, RECENT)
    choice = validation.choose_recency(History(torch.from_numpy(items)))
    return choice, validation.recency


def test_tastes_that_move_want_recency():
    split, items = tastes(400, 3, np.random.default_rng(0))
    found, used = recency_of(items, split)
    assert used == float(found.chosen) >= 0.3
    assert found.leads[found.chosen][1] > 0.05


def test_the_recency_is_in_the_table_and_in_its_value():
    split, items = tastes(400, 3, np.random.default_rng(0))
    base = History(torch.from_numpy(items))
    config = replace(RECENT, popularity_exponent=0.0)
    state = TrainingState(split, config, base, torch.Generator())
    table, (choice,) = state.validation.table(base)
    assert table.recency == float(choice.chosen) > 0
    value = state.validation.value(base)
    assert value == pytest.approx(exactly(table, config, split), abs=1e-6)
    assert value == pytest.approx(state.validation.chosen.mean(), abs=1e-6)
    assert value > exactly(replace(table, recency=0.0), config, split)


def test_without_an_order_no_recency_is_chosen():
    split, items = tastes(50, 3, np.random.default_rng(0))
    unordered = replace(split, train=replace(split.train, order=None))
    assert recency_of(items, unordered) == (None, 0.0)


def test_tastes_that_stay_want_no_recency():
    split, items = tastes(400, 99, np.random.default_rng(0))
    noisy = items + 0.5 * np.random.default_rng(1).normal(size=items.shape).astype(np.float32)
    found, used = recency_of(noisy, split)
    assert (found.chosen, used) == ("0", 0.0)
