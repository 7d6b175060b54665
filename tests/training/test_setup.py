"""From settings to a base: shapes, first vectors, and what decides them."""

from dataclasses import replace

import pytest
import torch

from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base, random_table

CONFIG = TrainConfig(base="mf", n_blocks=4, block_size=2)
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
