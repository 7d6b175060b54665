from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.coding.mixing import Mixing
from elasticrec.data.errors import InputError
from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.splitting import Split
from elasticrec.evaluation.compositions import PlainEvaluator
from elasticrec.evaluation.device_path import device_scores
from elasticrec.evaluation.mixing import MixingConfig, best_weight, fit_mixing
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.voted_ranks import VotedRanks
from elasticrec.evaluation.votes import Cast

SMALL = MixingConfig(n_users=30, metric="recall@5", n_weights=5)


def split_of(asked, test=None):
    """A split whose train is what was seen and whose validation is what is relevant."""
    nothing = Pairs(np.zeros(31, dtype=np.int64), np.zeros(0, dtype=np.int32), 90)
    ids = Ids(np.arange(30)), Ids(np.arange(90))
    return Split(asked.seen, asked.relevant, nothing if test is None else test, *ids, name="made")


@pytest.mark.parametrize("person", ["vector+history", "history"])
def test_the_curves_are_what_the_plain_evaluator_measures(coded, rng, person):
    model, asked = coded[0](rng), coded[1](rng)
    fitted = fit_mixing(model, split_of(asked), SMALL)
    column = ("vector+history", "history").index(person)
    for row in (1, 2, 6, 11, 15, 19, 16):
        measured = []
        for weight in fitted.grid:
            weights = np.full((model.menu.n_rows, 2), weight)
            mixed = replace(model, mixing=Mixing(weights, fitted.mixing.by_root))
            alike = model.menu.compose(np.full(5, row))
            folded_from = alike if alike.depths.any() else None
            scores = device_scores(mixed, folded_from, asked, person)
            plain = PlainEvaluator(scores, asked, "recall@5")
            measured.append(plain.evaluate(alike.depths[None], alike.neighbours[None])[0])
        assert fitted.quality[column, row] == pytest.approx(measured)


def test_ranks_are_counted_exactly_equal_scores_by_number(rng):
    scores = torch.from_numpy(rng.integers(0, 4, size=(4, 50)).astype(np.float32))
    scores[:, 7] = -torch.inf
    votes = rng.integers(0, 3, size=(4, 50)).astype(np.float32)
    users, items = (torch.from_numpy(each) for each in np.nonzero(votes))
    cast = Cast(users, items, torch.from_numpy(votes[votes > 0]))
    rows, columns = (torch.from_numpy(each) for each in np.nonzero(np.ones((4, 50))))
    weights = np.array([0.0, 0.5, 1.0, 7.0])
    factors = torch.tensor([1.0, 0.5, 2.0, 0.0], dtype=torch.float64)
    found = VotedRanks(scores, rows, columns, 12).under(cast, factors, weights)
    for w, weight in enumerate(weights):
        total = scores.numpy() + weight * factors.numpy()[:, None] * votes
        order = np.lexsort((np.tile(np.arange(50), (4, 1)), -total), axis=1)
        wanted = np.argsort(order, axis=1)
        wanted[:, 7] = 99
        assert np.array_equal(np.minimum(found[w].reshape(4, 50), 12), np.minimum(wanted, 12))


def test_test_is_never_read(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    other = Pairs(np.arange(31), np.full(30, 3, dtype=np.int32), 90)
    one, same = (fit_mixing(model, split_of(asked, test), SMALL) for test in (None, other))
    assert np.array_equal(one.quality, same.quality, equal_nan=True)
    assert one.mixing.fingerprint() == same.mixing.fingerprint()
    with pytest.raises(InputError, match="test part"):
        questions(split_of(asked))  # there is nothing in it to read


def test_helpful_votes_get_a_weight_and_useless_ones_none(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    # Each relevant item lists what those who like it have seen: votes know the answer.
    numbers, weights = np.zeros((90, 64), np.uint32), np.zeros((90, 64), np.uint8)
    likes = asked.relevant.csr().T.tocsr()
    for item in range(90):
        voters = np.unique(asked.seen.csr()[likes[item].indices].indices)
        voters = voters[voters != item][:64]
        numbers[item, : len(voters)], weights[item, : len(voters)] = voters, 15
    near = replace(model.neighbours, numbers=numbers, weights=weights)
    helpful = fit_mixing(replace(model, neighbours=near), split_of(asked), SMALL).mixing.weights
    assert (helpful[model.menu.neighbours == 64] > 0).all()
    nobody = replace(near, numbers=np.zeros_like(numbers), weights=np.zeros_like(weights))
    useless = fit_mixing(replace(model, neighbours=nobody), split_of(asked), SMALL).mixing.weights
    assert (useless == 0).all()
    assert (helpful[model.menu.neighbours == 0] == 0).all()


def test_a_model_without_user_vectors_has_the_weights_of_histories(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    fitted = fit_mixing(replace(model, users=None), split_of(asked), SMALL)
    assert np.array_equal(fitted.mixing.weights[:, 0], fitted.mixing.weights[:, 1])
    assert np.isnan(fitted.quality[0]).all()


def test_the_best_weight_is_the_lowest_of_a_flat_top_and_lies_between_points():
    grid = np.array([0.0, 1, 2, 4, 8, 16, 32])
    assert best_weight(np.array([5.0, 4, 3, 2, 1, 1, 1]), grid) == 0
    assert best_weight(np.array([0.0, 1, 2, 3, 3, 3, 3]), grid) == 8
    peak = best_weight(np.array([0.0, 1, 2, 5, 4, 1, 0]), grid)
    assert 4 < peak < 6
    assert best_weight(np.array([0.0, 1, 2, 3, 4, 5, 6]), grid) == 32


def test_reports_progress_and_refuses_nonsense(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    told = []
    fit_mixing(model, split_of(asked), SMALL, progress=lambda n, total: told.append((n, total)))
    assert sum(n for n, _ in told) == told[0][1]
    for wrong in ({"n_users": 0}, {"n_weights": 0}, {"seed": -1}, {"metric": "mrr@5"}):
        with pytest.raises(InputError):
            MixingConfig(**wrong)


def test_sparse_rows_are_weighed_beside_a_dense_one(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    fitted = fit_mixing(model, split_of(asked), SMALL)
    menu, planes = model.menu, model.menu.depths.sum(axis=1)
    dense = planes[planes >= menu.n_blocks].min()
    sparse = np.flatnonzero((planes < dense) & (menu.neighbours > 0))
    assert len(sparse)
    assert np.array_equal(np.flatnonzero(~np.isnan(fitted.beside[0, :, 0])), sparse)
    count = menu.neighbours[(planes == dense)]
    usual = np.bincount(menu.neighbours[menu.neighbours > 0]).argmax()
    beside = np.flatnonzero((planes == dense) & (menu.neighbours == count[count <= usual].max()))[0]
    for row in sparse[:3].tolist():
        measured = []
        for weight in fitted.grid:
            weights = fitted.mixing.weights.copy()
            weights[row] = weight
            mixed = replace(model, mixing=Mixing(weights, fitted.mixing.by_root))
            kept = menu.compose(np.where(np.arange(5) < 2, beside, row))
            scores = device_scores(mixed, None, asked, "vector+history")
            plain = PlainEvaluator(scores, asked, "recall@5")
            measured.append(plain.evaluate(kept.depths[None], kept.neighbours[None])[0])
        assert fitted.beside[0, row] == pytest.approx(measured)
        assert fitted.mixing.weights[row, 0] == pytest.approx(
            best_weight(fitted.beside[0, row], fitted.grid), rel=1e-6
        )
