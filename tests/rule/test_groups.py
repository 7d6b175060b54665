import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.rule.free_blocks import (
    cluster_groups,
    popularity_groups,
    principal_components,
    random_groups,
)
from elasticrec.rule.search_space import even_sizes

POPULARITY = np.array([3, 9, 3, 0, 7, 9, 1])


def test_popularity_groups_fall_and_break_ties_by_number():
    groups = popularity_groups(POPULARITY, 3)
    assert np.bincount(groups).tolist() == [3, 2, 2]
    assert groups.tolist() == [1, 0, 1, 2, 0, 0, 2]


def test_items_numbered_by_popularity_are_ranges():
    groups = popularity_groups(-np.sort(-POPULARITY), 3)
    assert groups.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_random_groups_depend_on_the_seed_alone():
    one, same, other = (random_groups(7, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()


def test_every_item_is_in_any_random_group_alike():
    labels = np.array([random_groups(9, 3, np.random.default_rng(s)) for s in range(600)])
    for group in range(3):
        assert np.abs((labels == group).mean(axis=0) - 1 / 3).max() < 0.07


def test_clusters_are_found_and_the_popular_one_comes_first():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [50, 10, 140])
    centres = np.array([[5, 0, 0, 0], [0, 5, 0, 0], [0, 0, 5, 0]])
    items = (centres[truth] + rng.normal(0, 0.1, (200, 4))).astype(np.float32)
    popularity = np.array([5, 20, 1])[truth]
    found = [
        cluster_groups(items, popularity, 3, np.random.default_rng(seed)).tolist()
        for seed in range(12)
    ]
    assert np.array([1, 0, 2])[truth].tolist() in found  # k-means may end in a worse place


def test_pca_groups_by_the_two_widest_directions_alone():
    """Items that differ in other directions only are then in one group."""
    rng = np.random.default_rng(0)
    wide = rng.normal(0, 10, (150, 2)).repeat(2, axis=0)
    narrow = rng.normal(0, 4, (300, 6)) - 0.0
    narrow[1::2] = -narrow[0::2]  # each second item mirrors the one before
    items = np.column_stack([wide, narrow]).astype(np.float32)
    popularity = np.arange(300)

    def apart(pca):
        labels = cluster_groups(items, popularity, 20, np.random.default_rng(1), pca=pca)
        return np.mean(labels[0::2] != labels[1::2])

    assert apart(True) < 0.05
    assert apart(False) > 0.3


def test_components_are_the_widest_directions():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1000, 3)) * np.array([10.0, 3.0, 0.1])
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    found = principal_components((hidden @ turn + 5).astype(np.float32))
    assert found.shape == (1000, 2)
    for n in range(2):
        assert abs(np.corrcoef(found[:, n], hidden[:, n])[0, 1]) > 0.999
    assert np.allclose(found.std(axis=0), hidden[:, :2].std(axis=0), rtol=0.01)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.integers(0, 1000), st.data())
def test_every_item_has_one_group_and_the_popular_come_first(V, seed, data):
    G = data.draw(st.integers(1, V))
    rng = np.random.default_rng(seed)
    popularity = rng.integers(0, 5, V)
    items = rng.normal(size=(V, 3)).astype(np.float32).round(0)  # many equal points
    even = popularity_groups(popularity, G)
    for groups in (random_groups(V, G, rng), even):
        assert len(groups) == V
        assert groups.max() == G - 1
        assert np.ptp(np.bincount(groups)) <= 1
    for g in range(G - 1):
        assert popularity[even == g].min() >= popularity[even == g + 1].max()
    clusters = cluster_groups(items, popularity, G, rng)
    assert 0 <= clusters.max() < G
    assert np.bincount(clusters).min() >= 1
    means = np.bincount(clusters, weights=popularity) / np.bincount(clusters)
    assert (np.diff(means) <= 1e-12).all()


@pytest.mark.parametrize("n_groups", [0, 8])
def test_refuses_more_groups_than_items(n_groups):
    with pytest.raises(InputError, match="expected 1 to 7 groups"):
        even_sizes(7, n_groups)
    with pytest.raises(InputError, match="expected 1 to 7 groups"):
        cluster_groups(np.ones((7, 2)), POPULARITY, n_groups, np.random.default_rng(0))
