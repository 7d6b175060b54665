"""Scores and their readable twins agree, and `tiled` has rank d (ledger 1)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.evaluation.scoring import (
    effective,
    popularity_factors,
    score_aligned_reference,
    score_items,
    score_tiled_reference,
)
from elasticrec.training.table import BlockTable

REFERENCES = {"aligned": score_aligned_reference, "tiled": score_tiled_reference}


def draw(seed, n_users=3, n_items=7, n_blocks=4, block_size=2):
    rng = np.random.default_rng(seed)
    users = rng.normal(size=(n_users, n_blocks * block_size))
    blocks = rng.normal(size=(n_items, n_blocks, block_size))
    kept = rng.random((n_items, n_blocks)) < 0.5
    kept[np.arange(n_items), rng.integers(n_blocks, size=n_items)] = True
    return users, blocks, kept


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), score=st.sampled_from(["aligned", "tiled"]))
def test_fast_score_is_eq_2_pair_by_pair(seed, score):
    users, blocks, kept = draw(seed)
    found = score_items(users, blocks, score=score, kept=kept, scaled=True)
    widest = int(kept.sum(axis=1).max())
    for u, user in enumerate(users):
        for v, item in enumerate(blocks):
            expected = REFERENCES[score](user, item, np.flatnonzero(kept[v]), widest)
            assert found[u, v] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_aligned_score_of_the_whole_item_is_a_plain_product():
    users, blocks, _ = draw(0)
    np.testing.assert_allclose(
        score_items(users, blocks), users @ blocks.reshape(len(blocks), -1).T, atol=1e-12
    )
    expected = score_aligned_reference(users[0], blocks[2], range(4))
    assert score_items(users, blocks)[0, 2] == pytest.approx(expected)


def test_hand_worked_scores():
    user = np.array([1.0, 2.0, 3.0, 4.0])  # two blocks of two
    item = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert score_aligned_reference(user, item, [0, 1]) == 1 + 4
    assert score_tiled_reference(user, item, [0, 1], 2) == (1 + 3) + (2 + 4)
    assert score_tiled_reference(user, item, [1], 2) == 2 * (2 + 4)


def test_tiled_scores_have_rank_d_whatever_is_kept():
    users, blocks, kept = draw(1, n_users=20, n_items=30)
    scores = score_items(users, blocks, score="tiled", kept=kept, scaled=True)
    assert np.linalg.matrix_rank(scores) == 2
    assert np.linalg.matrix_rank(score_items(users, blocks)) == 8


@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_effective_matrices_multiply_to_the_score(score):
    users, blocks, _ = draw(2)
    persons, items = effective(BlockTable(blocks, users, "mf", score))
    np.testing.assert_allclose(
        persons @ items.T, score_items(users, blocks, score=score), atol=1e-9
    )


def test_an_item_that_keeps_nothing_scores_zero():
    users, blocks, kept = draw(3)
    kept[4] = False
    assert (score_items(users, blocks, kept=kept, scaled=True)[:, 4] == 0).all()


def test_popularity_multiplies_scores():
    users, blocks, _ = draw(2)
    per_item = np.array([7, 0, 3, 1, 0, 0, 1])
    plain = BlockTable(blocks, users, "mf")
    scaled = BlockTable(blocks, users, "mf", popularity_exponent=0.5)
    persons, items = effective(scaled, per_item)
    wanted = score_items(users, blocks) * np.sqrt((per_item + 1) / 8)
    np.testing.assert_allclose(persons @ items.T, wanted, rtol=1e-6)
    assert popularity_factors(per_item, 1.0).tolist() == [1, 0.125, 0.5, 0.25, 0.125, 0.125, 0.25]
    np.testing.assert_array_equal(effective(plain)[1], effective(plain, per_item)[1])
    with pytest.raises(InputError, match=r"popularity to the power 0\.5"):
        effective(scaled)
