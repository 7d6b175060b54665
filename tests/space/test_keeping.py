"""A table under a composition ranks as the evaluator of compositions says it does."""

import numpy as np
import pytest

from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.evaluation.compositions import PlainEvaluator
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.ranking import evaluate
from elasticrec.evaluation.rows import BlockScores
from elasticrec.space.composition import Composition
from elasticrec.space.groups import Groups
from elasticrec.space.keeping import kept_table

GROUPS = Groups(np.array([90, 60, 50]), np.arange(200), "popularity")


@pytest.fixture
def table(planted):
    rng = np.random.default_rng(3)
    blocks = rng.normal(size=(200, 4, 8)).astype(np.float32)
    return BlockTable(blocks, rng.normal(size=(300, 32)).astype(np.float32), "mf")


@pytest.mark.parametrize("width_correction", [False, True])
def test_scores_as_the_evaluator_of_compositions(table, planted, width_correction):
    kept = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    composition = Composition.of_mask(kept)
    less = kept_table(table, GROUPS, composition, width_correction=width_correction)
    asked = questions(planted, "test")
    scores = BlockScores.of_table(
        table, GROUPS.bounds, asked.users, planted.train, width_correction=width_correction
    )
    plain = PlainEvaluator(scores, asked, "recall@20")
    wanted = plain.evaluate(composition.depths[None], composition.neighbours[None])[0]
    found = evaluate(less, planted, metrics=["recall@20"], device="cpu").metrics["recall@20"]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_what_is_dropped_is_zero_and_the_rest_as_it_was(table):
    kept = np.eye(3, 4, dtype=bool)
    less = kept_table(table, GROUPS, Composition.of_mask(kept))
    np.testing.assert_array_equal(less.blocks[:90, 0], table.blocks[:90, 0])
    np.testing.assert_array_equal(less.blocks[90:150, 1], table.blocks[90:150, 1])
    assert np.count_nonzero(less.blocks.any(axis=2)) == 200
    full = kept_table(table, GROUPS, Composition.full(3, 4))
    np.testing.assert_array_equal(full.blocks, table.blocks)


def test_refuses_what_it_cannot_keep(table):
    with pytest.raises(InputError, match="3 groups of 5 blocks; expected 3 groups of 4 blocks"):
        kept_table(table, GROUPS, Composition.full(3, 5))
    with pytest.raises(InputError, match="group 1 keeps nothing"):
        kept_table(table, GROUPS, Composition.of_mask(np.array([[1] * 4, [0] * 4, [1] * 4])))
    planes = Composition(np.full((3, 4), 2), np.zeros(3, dtype=np.uint8))
    with pytest.raises(InputError, match="whole or not at all"):
        kept_table(table, GROUPS, planes)
