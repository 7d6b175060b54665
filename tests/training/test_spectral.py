"""First vectors against a dense singular value decomposition."""

import numpy as np
import pytest
import torch

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases.lightgcn import Graph
from elasticrec.training.spectral import spectral_tables


def dense(train):
    R = train.csr().toarray()
    return R / np.sqrt(np.maximum(np.outer(R.sum(1), R.sum(0)), 1))


def test_scores_of_the_first_vectors_are_those_of_the_best_low_rank_matrix(planted):
    D = 6
    generator = torch.Generator().manual_seed(0)
    users, items = spectral_tables(
        Graph(planted.train), D, generator, unit=False, power=0.5, rounds=30
    )
    U, S, Vt = np.linalg.svd(dense(planted.train))
    best = (U[:, :D] * S[:D]) @ Vt[:D]
    found = (users @ items.T).numpy()
    scale = (found * best).sum() / (best * best).sum()  # lengths are set anew
    np.testing.assert_allclose(found / scale, best, atol=2e-3 * np.abs(best).max())


@pytest.mark.parametrize("unit", [True, False])
def test_norms_are_1_each_or_on_average(planted, unit):
    generator = torch.Generator().manual_seed(0)
    for table in spectral_tables(Graph(planted.train), 16, generator, unit=unit):
        norms = table.norm(dim=1)
        if unit:
            torch.testing.assert_close(norms, torch.ones_like(norms))
        else:
            assert float(norms.square().mean()) == pytest.approx(1, rel=1e-5)
            assert float(norms.std()) > 0.1


def test_rows_lie_one_after_the_other_and_the_generator_decides(planted):
    graph = Graph(planted.train)
    one, two, other = (
        spectral_tables(graph, 8, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    for k in (0, 1):
        assert one[k].is_contiguous()
        torch.testing.assert_close(one[k], two[k], rtol=0, atol=0)
        assert not torch.equal(one[k], other[k])


def test_a_tiny_catalogue_is_padded_to_the_dimensions_asked_for():
    train = Pairs.from_arrays(np.arange(5), np.arange(5) % 3, n_users=5, n_items=3)
    users, items = spectral_tables(Graph(train), 8, torch.Generator().manual_seed(0))
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
    expected = spectral_tables(graph, 8, torch.Generator().manual_seed(0))
    monkeypatch.setattr(torch.linalg, "qr", broken_once)
    found = spectral_tables(graph, 8, torch.Generator().manual_seed(0))
    assert [n for n, each in enumerate(types) if each == torch.float64] == [3]
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a @ a.T, b @ b.T, atol=1e-3, rtol=1e-3)
