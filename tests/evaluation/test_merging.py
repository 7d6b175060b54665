import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.compositions import PlainEvaluator
from elasticrec.evaluation.merging import MenuEvaluator
from elasticrec.evaluation.questions import Questions
from elasticrec.evaluation.rows import BlockScores
from elasticrec.space.composition import F32, Menu


def small_world(
    rng, *, n_users=6, n_items=70, n_blocks=3, d=2, n_groups=5, whole=True, wanted=0.15
):
    """Blocks and users (whole numbers tie often), bounds of groups, and what is asked."""
    shapes = (n_items, n_blocks, d), (n_users, n_blocks * d)
    blocks, users = (
        (rng.integers(-2, 3, shape) if whole else rng.normal(size=shape)).astype(np.float32)
        for shape in shapes
    )
    inner = np.sort(rng.choice(np.arange(1, n_items), size=n_groups - 1, replace=False))
    parts = rng.choice(3, size=(n_users, n_items), p=(0.75 - wanted, 0.25, wanted))
    parts[:, 0] = 2
    seen, relevant = (
        Pairs.from_arrays(*np.nonzero(parts == part), n_users=n_users, n_items=n_items)
        for part in (1, 2)
    )
    bounds = np.concatenate(([0], inner, [n_items]))
    return blocks, users, bounds, Questions(np.arange(n_users), seen, relevant)


def a_menu(n_blocks):
    """Every subset of blocks, also none."""
    subsets = np.arange(2**n_blocks)[:, None] >> np.arange(n_blocks) & 1
    return Menu(subsets * F32, np.zeros(2**n_blocks, dtype=np.uint8))


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(["recall@1", "recall@6", "ndcg@9", "hit@3", "recall@255"]),
    score=st.sampled_from(["aligned", "tiled"]),
    correction=st.booleans(),
)
def test_counts_give_the_plain_evaluators_values(seed, metric, score, correction):
    rng = np.random.default_rng(seed)
    blocks, users, bounds, asked = small_world(rng)
    scores = BlockScores(blocks, users, bounds, score=score, width_correction=correction)
    menu = a_menu(3)
    choices = rng.integers(menu.n_rows, size=(12, 5))
    depths, neighbours = menu.depths[choices], menu.neighbours[choices]
    plain = PlainEvaluator(scores, asked, metric).evaluate(depths, neighbours)
    counted = MenuEvaluator(scores, asked, menu, metric, threads=1)
    assert np.array_equal(counted.evaluate(depths, neighbours), plain)
    assert np.array_equal(counted.evaluate_choices(choices), plain)


def test_the_ranks_are_those_of_the_plain_evaluator_bit_by_bit_on_real_numbers():
    rng = np.random.default_rng(8)
    blocks, users, bounds, asked = small_world(
        rng, n_users=600, n_items=900, n_blocks=4, d=8, whole=False, wanted=0.01
    )
    scores = BlockScores(blocks, users, bounds)
    menu = Menu.f32_prefixes(np.arange(4))
    choices = rng.integers(menu.n_rows, size=(20, 5))
    plain = PlainEvaluator(scores, asked, "recall@50").ranks(
        menu.depths[choices], menu.neighbours[choices]
    )
    counted = MenuEvaluator(scores, asked, menu, "recall@50", threads=2).ranks(choices)
    assert np.array_equal(np.minimum(counted, 50), np.minimum(plain, 50))
    assert (plain < 50).any()
    assert (plain >= 50).any()


@pytest.mark.gpu
def test_a_gpu_counts_the_same():
    rng = np.random.default_rng(3)
    blocks, users, bounds, asked = small_world(rng, n_users=40, n_items=600)
    menu = a_menu(3)
    choices = rng.integers(menu.n_rows, size=(12, 5))
    ranks = [
        MenuEvaluator(BlockScores(blocks, users, bounds, device=device), asked, menu, "recall@20")
        .ranks(choices)
        .clip(max=20)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_array_equal(*ranks)


def test_equal_scores_stand_in_order_of_the_item_index_across_groups():
    # Four items in two groups, all of score 1: item i has rank i.
    blocks = np.ones((4, 1, 1), dtype=np.float32)
    asked = Questions(
        np.arange(1),
        Pairs(np.array([0, 0]), np.zeros(0, np.int32), 4),
        Pairs(np.array([0, 4]), np.arange(4, dtype=np.int32), 4),
    )
    scores = BlockScores(blocks, np.ones((1, 1)), np.array([0, 2, 4]))
    counted = MenuEvaluator(scores, asked, Menu([[F32]], [0]), "recall@10", threads=1)
    assert counted.ranks(np.array([[0, 0]])).tolist() == [[0, 1, 2, 3]]


def test_a_group_that_keeps_nothing_is_never_listed_and_never_in_the_way():
    blocks = np.array([9.0, 8.0, 1.0, 2.0], dtype=np.float32).reshape(4, 1, 1)
    asked = Questions(
        np.arange(1),
        Pairs(np.array([0, 0]), np.zeros(0, np.int32), 4),
        Pairs(np.array([0, 2]), np.array([0, 2], np.int32), 4),
    )
    scores = BlockScores(blocks, np.ones((1, 1)), np.array([0, 2, 4]))
    counted = MenuEvaluator(scores, asked, Menu([[0], [F32]], [0, 0]), "recall@2", threads=1)
    both, second, none = counted.ranks(np.array([[1, 1], [0, 1], [0, 0]])).tolist()
    assert both == [0, 3]
    assert second[1] == 1
    assert second[0] >= 2
    assert min(none) >= 2


def test_rows_that_are_not_on_the_menu_and_long_lists_are_refused():
    blocks, users, bounds, asked = small_world(np.random.default_rng(0))
    scores = BlockScores(blocks, users, bounds)
    menu = Menu.f32_prefixes(np.arange(3))
    counted = MenuEvaluator(scores, asked, menu, threads=1)
    with pytest.raises(InputError, match=r"\[0, 0, 32\] with 0 neighbours are no row"):
        counted.evaluate(
            np.broadcast_to(np.array([0, 0, F32], np.uint8), (1, 5, 3)), np.zeros((1, 5), np.uint8)
        )
    with pytest.raises(InputError, match="beyond 255"):
        MenuEvaluator(scores, asked, menu, "recall@256")
