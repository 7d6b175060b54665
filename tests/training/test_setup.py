"""From settings to a base: shapes, and first vectors against a dense decomposition."""

import ctypes
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Graph
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import keep_freed_memory, make_base, random_table, spectral_tables

CONFIG = TrainConfig(base="mf", n_blocks=4, block_size=2)
BASES = {
    "mf": CONFIG,
    "lightgcn": replace(CONFIG, base="lightgcn", layers=2),
    "history": replace(CONFIG, base="history"),
}


def made(split, config, seed=0):
    return make_base(split.train, config, torch.Generator().manual_seed(seed))


def sized(dimensions, **settings):
    return TrainConfig(n_blocks=1, block_size=dimensions, **settings)


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


def dense(train):
    R = train.csr().toarray()
    return R / np.sqrt(np.maximum(np.outer(R.sum(1), R.sum(0)), 1))


def test_scores_of_the_first_vectors_are_those_of_the_best_low_rank_matrix(planted):
    D = 6
    generator = torch.Generator().manual_seed(0)
    users, items = spectral_tables(
        Graph(planted.train), sized(D, init_rounds=30), generator, unit=False
    )
    U, S, Vt = np.linalg.svd(dense(planted.train))
    best = (U[:, :D] * S[:D]) @ Vt[:D]
    found = (users @ items.T).numpy()
    scale = (found * best).sum() / (best * best).sum()  # lengths are set anew
    np.testing.assert_allclose(found / scale, best, atol=2e-3 * np.abs(best).max())


@pytest.mark.parametrize("unit", [True, False])
def test_norms_are_1_each_or_on_average(planted, unit):
    generator = torch.Generator().manual_seed(0)
    for table in spectral_tables(Graph(planted.train), sized(16), generator, unit=unit):
        norms = table.norm(dim=1)
        if unit:
            torch.testing.assert_close(norms, torch.ones_like(norms))
        else:
            assert float(norms.square().mean()) == pytest.approx(1, rel=1e-5)
            assert float(norms.std()) > 0.1


def test_rows_lie_one_after_the_other_and_the_generator_decides(planted):
    graph = Graph(planted.train)
    one, two, other = (
        spectral_tables(graph, sized(8), torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    for k in (0, 1):
        assert one[k].is_contiguous()
        torch.testing.assert_close(one[k], two[k], rtol=0, atol=0)
        assert not torch.equal(one[k], other[k])


def test_a_tiny_catalogue_is_padded_to_the_dimensions_asked_for():
    train = Pairs.from_arrays(np.arange(5), np.arange(5) % 3, n_users=5, n_items=3)
    users, items = spectral_tables(Graph(train), sized(8), torch.Generator().manual_seed(0))
    assert users.shape == (5, 8)
    assert items.shape == (3, 8)
    assert torch.isfinite(users).all()
    assert torch.isfinite(items).all()
    assert (users[:, 3:].abs() < 0.1).all()


def test_factors_that_are_not_finite_are_made_again(planted, monkeypatch):
    plain, types = torch.linalg.qr, []

    def broken_once(x):
        types.append(x.dtype)
        Q, R = plain(x)
        return (Q, R * torch.nan) if len(types) == 3 else (Q, R)

    graph = Graph(planted.train)
    expected = spectral_tables(graph, sized(8), torch.Generator().manual_seed(0))
    monkeypatch.setattr(torch.linalg, "qr", broken_once)
    found = spectral_tables(graph, sized(8), torch.Generator().manual_seed(0))
    assert [n for n, each in enumerate(types) if each == torch.float64] == [3]
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a @ a.T, b @ b.T, atol=1e-3, rtol=1e-3)


COUNT = """
import resource, numpy as np
from elasticrec.training.setup import keep_freed_memory
if not keep_freed_memory():
    raise SystemExit("unknown")
np.ones(1 << 23)  # 64 MB
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(1 << 23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_large_arrays_take_no_new_pages():
    found = subprocess.run(
        [sys.executable, "-c", COUNT], check=False, capture_output=True, text=True
    )
    if found.stderr.strip() == "unknown":
        pytest.skip("not glibc")
    assert int(found.stdout) < 1000  # ten times 64 MB are 160,000 pages


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert keep_freed_memory() is False
