"""What a candidate measures is what Eq. 2 ranks with, or what a device does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Split
from elasticrec.evaluation.measure import measure
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.free_blocks import FreeBlocks, masked_items
from elasticrec.rule.levels import Levels
from elasticrec.rule.samples import Measure
from elasticrec.training.table import BlockTable, folded
from tests.twins import score_aligned_reference, score_tiled_reference

from .model import make_model

REFERENCE = {"aligned": score_aligned_reference, "tiled": score_tiled_reference}


@pytest.mark.parametrize("score", REFERENCE)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_scores_are_eq_2_pair_by_pair(score, seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat([0, 1, 2], [4, 3, 2]))
    users = rng.normal(size=(5, 8)).astype(np.float32)
    table = BlockTable(rng.normal(size=(9, 4, 2)).astype(np.float32), users, "mf", score)
    mask = rng.random((3, 4)) < 0.5
    mask[:, 0] = True
    items = masked_items(table, groups, mask, np.ones(9))
    scores = folded(users, table) @ items.T
    for u in range(5):
        for v in range(9):
            chosen = np.flatnonzero(mask[groups[v]])
            widest = int(mask.sum(axis=1).max())
            wanted = REFERENCE[score](users[u], table.blocks[v], chosen, widest)
            assert scores[u, v] == pytest.approx(wanted, rel=1e-4, abs=1e-5)


class Parts:
    """The parts of a model that blocks are measured with."""

    def __init__(self, split, table):
        self.split, self.table = split, table


def test_items_of_few_blocks_are_scored_as_high_as_those_of_many():
    """Eq. 2's max |B_g'| / |B_g| decides who is first here: without it item 1 never is."""
    one = np.array([[0, 1], [0, 1]])
    pairs = {
        name: Pairs.from_arrays(users, items, n_users=2, n_items=4)
        for name, (users, items) in {
            "train": ([0, 1], [3, 3]),
            "validation": ([0, 1], [1, 1]),
            "test": ([0, 1], [2, 2]),
        }.items()
        for users, items in [(np.array(users), np.array(items))]
    }
    split = Split(**pairs, user_ids=Ids.dense(2), item_ids=Ids.dense(4))
    blocks = np.zeros((4, 2, 1), dtype=np.float32)
    blocks[0] = [[0.8], [0.8]]  # both blocks: 1.6
    blocks[1] = [[1.0], [9.9]]  # the first block alone: 1.0, or 2.0 once it counts for two
    table = BlockTable(blocks, one.astype(np.float32) * 0 + 1, "mf")
    groups = np.array([0, 1, 0, 0])
    space = FreeBlocks(groups, 2, 1, SpaceConfig(kind="blocks", groups="random", n_groups=2))
    measured = Measure(Parts(split, table), space, "recall@1", device="cpu")
    assert measured(np.array([[1, 1], [1, 0]], dtype=bool), np.array([0, 1])).tolist() == [1, 1]
    assert measured(np.array([[1, 1], [1, 1]], dtype=bool), np.array([0, 1])).tolist() == [1, 1]
    weak = table.blocks.copy()
    weak[1, 0] = 0.7  # 1.4 for two: less than 1.6
    other = Parts(split, BlockTable(weak, table.users, "mf"))
    measured = Measure(other, space, "recall@1", device="cpu")
    assert measured(np.array([[1, 1], [1, 0]], dtype=bool), np.array([0, 1])).tolist() == [0, 0]


def test_levels_measure_what_their_composition_measures(planted, tmp_path):
    model = make_model(tmp_path / "m", planted)
    space = Levels(model.codes, model.order, SpaceConfig(n_groups=4))
    users = np.flatnonzero(model.split.validation.per_user)[:80]
    candidate = np.array([space.most, 3, 2, 1])
    found = Measure(model, space, "ndcg@20", device="cpu")(candidate, users)
    wanted = measure(
        model.codes, model.neighbours, model.weights, space.composition(candidate), model.split,
        users=users, metrics=("ndcg@20",), device="cpu",
    )  # fmt: skip
    assert np.array_equal(found, wanted.per_user["ndcg@20"])
    assert found.mean() > 0


def test_a_person_without_users_vectors_is_folded_in(planted, tmp_path):
    model = make_model(tmp_path / "m", planted)
    groups = np.arange(model.table.n_items) % 2
    space = FreeBlocks(groups, 4, 8, SpaceConfig(kind="blocks", groups="random"))
    users = np.flatnonzero(model.split.validation.per_user)
    mask = np.ones((2, 4), dtype=bool)
    found = Measure(model, space, "recall@20", device="cpu")(mask, users)
    persons = model.table.fold_in(model.split.train.rows(users))
    folded = BlockTable(model.table.blocks, np.zeros((planted.n_users, 32), np.float32), "mf")
    folded.users[users] = persons
    parts = Parts(model.split, folded)
    same = Measure(parts, space, "recall@20", device="cpu")(mask, users)
    assert np.array_equal(found, same)
