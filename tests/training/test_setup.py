"""From settings to a base and from a base to a table; the fold-in map."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.training.bases import random_table
from elasticrec.training.scoring import effective
from elasticrec.training.table import BlockTable
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import final_vectors, fit_fold_map, fold, make_base, make_table

CONFIG = TrainConfig(n_blocks=4, block_size=2)
BASES = {
    "mf": CONFIG,
    "aggregated": replace(CONFIG, aggregation=True),
    "lightgcn": replace(CONFIG, base="lightgcn", layers=2),
    "history": replace(CONFIG, base="history"),
}


def made(split, config, seed=0):
    return make_base(split.train, config, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("init", ["spectral", "random"])
def test_tables_have_the_shapes_asked_for_and_lie_row_by_row(planted, name, init):
    base = made(planted, replace(BASES[name], init=init))
    shapes = {"users": (planted.n_users, 8), "items": (planted.n_items, 8)}
    if name == "history":
        del shapes["users"]
    assert {table: t.shape for table, t in base.tables.items()} == shapes
    assert all(t.is_contiguous() for t in base.tables.values())
    assert base.name == BASES[name].base


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_the_generator_decides_the_first_vectors(planted, init):
    config = replace(CONFIG, init=init)
    one, two, other = (made(planted, config, seed).tables["items"] for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_init_scale_scales_the_first_vectors(planted, init):
    one, three = (
        made(planted, replace(CONFIG, init=init, init_scale=scale)).tables["items"]
        for scale in (1.0, 3.0)
    )
    torch.testing.assert_close(three, 3 * one)


def test_random_tables_have_norms_near_the_scale():
    norms = random_table(500, 64, 2.0, torch.Generator().manual_seed(0)).norm(dim=1)
    assert float(norms.mean()) == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_a_softmax_table_scores_cosines(planted, name, score):
    config = replace(BASES[name], score=score)
    base = made(planted, config)
    users, items = final_vectors(base, config)
    for vectors in (users, items):
        if vectors is not None:
            norms = fold(vectors, config).norm(dim=1)
            torch.testing.assert_close(norms, torch.ones_like(norms))
    table = make_table(base, config, planted.train)
    persons, matrix = effective(table)
    assert table.score == score
    assert matrix.shape == (planted.n_items, 8 if score == "aligned" else 2)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, rtol=1e-5)
    assert (persons is None) == (name == "history")
    assert (table.fold_map is None) == (name == "history")


def test_a_bpr_table_keeps_norms(planted):
    config = replace(CONFIG, loss="bpr", init="random", init_scale=3.0)
    base = made(planted, config)
    table = make_table(base, config, planted.train)
    np.testing.assert_array_equal(table.items, base.tables["items"].numpy())
    np.testing.assert_array_equal(table.users, base.tables["users"].numpy())


def test_a_gain_multiplies_items(planted):
    base = made(planted, CONFIG)
    gain = torch.linspace(0.5, 2, planted.n_items)
    plain, scaled = (make_table(base, CONFIG, planted.train, g) for g in (None, gain))
    np.testing.assert_allclose(scaled.items, plain.items * gain[:, None].numpy(), rtol=1e-6)


def test_folding_sums_blocks_only_where_tiled():
    vectors = torch.arange(16.0).view(2, 8)
    assert fold(vectors, CONFIG) is vectors
    found = fold(vectors, replace(CONFIG, score="tiled"))
    assert found.tolist() == [[0 + 2 + 4 + 6, 1 + 3 + 5 + 7], [8 + 10 + 12 + 14, 9 + 11 + 13 + 15]]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_users_that_are_linear_images_of_their_sums_are_folded_in_exactly(planted, seed):
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(planted.n_items, 3, 2)).astype(np.float32)
    table = BlockTable(blocks, None, "history")
    sums = table.fold_in(planted.train)
    image = rng.normal(size=(6, 6)).astype(np.float32)
    table = fit_fold_map(replace(table, users=sums @ image, base="mf"), planted.train)
    found = table.fold_in(planted.train)
    np.testing.assert_allclose(found, table.users, atol=0.02 * np.abs(table.users).max())


def test_a_table_without_users_needs_no_map(planted):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(planted.n_items, 3, 2)).astype(np.float32)
    table = BlockTable(blocks, None, "history")
    assert fit_fold_map(table, planted.train) is table
