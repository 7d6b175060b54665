import numpy as np
import pytest

from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.free_blocks import FreeBlocks, make_groups
from elasticrec.rule.search_space import even_sizes
from elasticrec.space import Budget

from .conftest import blocks, budget_of

AMAZON, YELP = 91_599, 105_843


def test_example_of_section_5_1_holds_15_blocks():
    space = blocks([10_000] * 10, 8, d=16)
    assert space.block_bytes.tolist() == [640_000] * 10
    assert space.user_bytes == 512
    assert space.n_blocks(Budget.parse("10MB")) == 15


@pytest.mark.parametrize(("items", "expected"), [(AMAZON, [34, 68, 170]), (YELP, [29, 59, 147])])
def test_blocks_of_the_papers_budgets(items, expected):
    space = blocks(even_sizes(items, 20), 16)
    assert [space.n_blocks(Budget.parse(f"{mb}MB")) for mb in (5, 10, 25)] == expected


@pytest.mark.parametrize(("items", "megabytes"), [(AMAZON, 5), (AMAZON, 25), (YELP, 10)])
def test_that_many_blocks_fit_and_one_more_does_not(items, megabytes):
    budget, space = Budget.parse(f"{megabytes}MB"), blocks(even_sizes(items, 20), 16)
    M = space.n_blocks(budget)
    for n_blocks, fits in ((M, True), (M + 1, False)):
        counts = np.full(20, n_blocks // 20) + (np.arange(20) < n_blocks % 20)
        assert (space.size(counts) <= budget.n_bytes) is fits


def test_size_is_one_user_and_the_blocks_kept():
    space = blocks([3, 5], 4)
    assert space.size(np.array([2, 1])) == 4 * 8 * 4 + 3 * 2 * 32 + 5 * 1 * 32
    assert space.sizes(np.array([[1, 1], [4, 4]])).tolist() == [128 + 256, 128 + 1024]
    assert space.full == Budget(128 + 1024)


def test_every_subset_of_blocks_is_equally_likely():
    space, rng = blocks([1] * 6000, 4), np.random.default_rng(0)
    drawn = space.fill(np.full(6000, 2), rng)
    assert set(drawn.sum(axis=1)) == {2}
    _, times = np.unique(drawn, axis=0, return_counts=True)
    assert len(times) == 6
    assert np.abs(times - 1000).max() < 150


def test_counts_change_by_as_few_blocks_as_may_be():
    space, rng = blocks(), np.random.default_rng(0)
    mask = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    seen = [space.with_counts(mask, np.array([2, 1, 2]), rng) for _ in range(40)]
    for child in seen:
        assert child.sum(axis=1).tolist() == [2, 1, 2]
        assert child[0, 0]
        assert np.array_equal(child[2], mask[2])
    assert len({child.tobytes() for child in seen}) == 2 * 3
    assert mask.sum() == 6  # what was given stays


def test_reselect_keeps_the_amount_of_one_group():
    space, rng = blocks([10] * 4, 8), np.random.default_rng(0)
    mask = space.fill(np.array([2, 3, 4, 5]), rng)
    children = [space.reselect(mask, 2, rng) for _ in range(40)]
    assert {int(child[2].sum()) for child in children} == {4}
    assert all(np.array_equal(np.delete(child, 2, 0), np.delete(mask, 2, 0)) for child in children)
    assert len({child.tobytes() for child in children}) > 20


def test_totals_of_alg_3_are_uniform_from_one_to_all_blocks_per_group():
    space, rng = blocks([10] * 4, 3), np.random.default_rng(5)
    totals = [space.draw_total(rng).n_bytes for _ in range(3000)]
    found = (np.array(totals) - space.user_bytes) / space.block_bytes[0]
    values, times = np.unique(found, return_counts=True)
    assert values.tolist() == list(range(4, 13))
    assert np.abs(times - 3000 / 9).max() < 80


def test_features_are_the_multi_hot():
    mask = np.array([[[1, 0, 1], [0, 0, 1], [1, 1, 1]]], dtype=bool)
    assert blocks().features(mask).tolist() == mask.astype(float).tolist()


def test_groups_are_made_as_asked(rng):
    popularity, items = rng.integers(0, 50, 60), rng.normal(size=(60, 4)).astype(np.float32)

    def labels(**config):
        return make_groups(popularity, items, SpaceConfig(kind="blocks", n_groups=4, **config))

    by_popularity = labels(groups="popularity")
    assert popularity[by_popularity == 0].min() >= popularity[by_popularity == 3].max()
    one, again, other = (labels(groups="random", seed=s) for s in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert one.tolist() != by_popularity.tolist()
    plain, pca = (labels(groups="cluster", pca=pca) for pca in (False, True))
    assert not np.array_equal(plain, pca)


def test_uniform_means_the_first_blocks():
    assert blocks().evenly(np.array([1, 2, 3])).astype(int).tolist() == [
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
    ]


def test_unequal_groups_pay_by_their_size():
    space = blocks([1000, 10], 4)
    budget = Budget(int(space.user_bytes) + 32 * (1000 + 4 * 10))
    assert space.highest(budget).tolist() == [1, 4]
    assert space.affordable(np.array([1, 3]), budget).tolist() == [1]
    assert not len(space.affordable(np.array([1, 4]), budget))
    assert isinstance(space, FreeBlocks)
    assert budget_of(space, 1).n_bytes == 128 + 32_000
