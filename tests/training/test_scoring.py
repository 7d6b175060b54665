"""Scores and their readable twins agree, and `tiled` has rank d (ledger 1)."""

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.training.table import BlockTable, popularity_factors
from tests.twins import score_aligned_reference, score_tiled_reference

REFERENCES = {"aligned": score_aligned_reference, "tiled": score_tiled_reference}


def draw(seed, n_users=3, n_items=7, n_blocks=4, block_size=2):
    rng = np.random.default_rng(seed)
    users = rng.normal(size=(n_users, n_blocks * block_size))
    return users, rng.normal(size=(n_items, n_blocks, block_size))


def test_hand_worked_scores():
    user = np.array([1.0, 2.0, 3.0, 4.0])  # two blocks of two
    item = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert score_aligned_reference(user, item, [0, 1]) == 1 + 4
    assert score_tiled_reference(user, item, [0, 1], 2) == (1 + 3) + (2 + 4)
    assert score_tiled_reference(user, item, [1], 2) == 2 * (2 + 4)


@pytest.mark.parametrize(("score", "rank"), [("aligned", 8), ("tiled", 2)])
def test_tiled_scores_have_rank_d_whatever_is_kept(score, rank):
    users, blocks = draw(1, n_users=20, n_items=30)
    blocks[np.random.default_rng(1).random((30, 4)) < 0.5] = 0
    persons, items = BlockTable(blocks, users, "mf", score).effective()
    assert np.linalg.matrix_rank(persons @ items.T) == rank


@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_effective_matrices_multiply_to_the_score(score):
    users, blocks = draw(2)
    persons, items = BlockTable(blocks, users, "mf", score).effective()
    wanted = [[REFERENCES[score](u, e, range(4), 4) for e in blocks] for u in users]
    np.testing.assert_allclose(persons @ items.T, wanted, atol=1e-9)


def test_popularity_multiplies_scores():
    users, blocks = draw(2)
    per_item = np.array([7, 0, 3, 1, 0, 0, 1])
    plain = BlockTable(blocks, users, "mf")
    scaled = BlockTable(blocks, users, "mf", popularity_exponent=0.5)
    persons, items = scaled.effective(per_item)
    wanted = users @ plain.items.T * np.sqrt((per_item + 1) / 8)
    np.testing.assert_allclose(persons @ items.T, wanted, rtol=1e-6)
    assert popularity_factors(per_item, 1.0).tolist() == [1, 0.125, 0.5, 0.25, 0.125, 0.125, 0.25]
    np.testing.assert_array_equal(plain.effective()[1], plain.effective(per_item)[1])
    with pytest.raises(InputError, match=r"popularity to the power 0\.5"):
        scaled.effective()
