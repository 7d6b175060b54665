import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.space.groups import (
    Groups,
    cluster_groups,
    even_sizes,
    popularity_groups,
    random_groups,
)

POPULARITY = np.array([3, 9, 3, 0, 7, 9, 1])


def test_popularity_groups_fall_and_break_ties_by_number():
    groups = popularity_groups(POPULARITY, 3)
    assert groups.sizes.tolist() == [3, 2, 2]
    assert groups.order.tolist() == [1, 5, 4, 0, 2, 6, 3]
    assert groups.bounds.tolist() == [0, 3, 5, 7]
    assert groups.of_item.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_random_groups_depend_on_the_seed_alone():
    one, same, other = (random_groups(POPULARITY, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    assert one.order.tolist() == same.order.tolist() != other.order.tolist()


def test_clusters_are_found_and_the_popular_one_comes_first():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [50, 10, 140])
    centres = np.array([[5, 0, 0, 0], [0, 5, 0, 0], [0, 0, 5, 0]])
    items = (centres[truth] + rng.normal(0, 0.1, (200, 4))).astype(np.float32)
    popularity = np.array([5, 20, 1])[truth]
    for pca in (False, True):
        groups = cluster_groups(items, popularity, 3, np.random.default_rng(3), pca=pca)
        assert groups.sizes.tolist() == [10, 50, 140]
        assert groups.order.tolist() == [*range(50, 60), *range(50), *range(60, 200)]


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_every_item_has_one_group_and_sits_by_falling_popularity(data):
    V = data.draw(st.integers(1, 60))
    G = data.draw(st.integers(1, V))
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    popularity = rng.integers(0, 5, V)
    items = rng.normal(size=(V, 3)).astype(np.float32).round(0)  # many equal points
    for groups in (
        random_groups(popularity, G, rng),
        popularity_groups(popularity, G),
        cluster_groups(items, popularity, G, rng),
    ):
        assert sorted(groups.order.tolist()) == list(range(V))
        assert groups.n_groups == G
        assert groups.sizes.min() >= 1
        if groups.kind != "cluster":
            assert groups.sizes.max() - groups.sizes.min() <= 1
        for start, stop in zip(groups.bounds[:-1], groups.bounds[1:], strict=True):
            inside = groups.order[start:stop]
            keys = [(-popularity[item], item) for item in inside]
            assert keys == sorted(keys)


def test_saved_and_loaded(tmp_path):
    groups = popularity_groups(POPULARITY, 3)
    groups.save(tmp_path / "groups.npz")
    loaded = Groups.load(tmp_path / "groups.npz")
    assert loaded.fingerprint() == groups.fingerprint()
    assert loaded.kind == "popularity"
    assert [p.name for p in tmp_path.iterdir()] == ["groups.npz"]


@pytest.mark.parametrize("n_groups", [0, 8])
def test_refuses_more_groups_than_items(n_groups):
    with pytest.raises(InputError, match="expected 1 to 7 groups"):
        even_sizes(7, n_groups)
    with pytest.raises(InputError, match="expected 1 to 7 groups"):
        cluster_groups(np.ones((7, 2)), POPULARITY, n_groups, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("sizes", "order", "kind", "message"),
    [
        ([2, 1], [0, 1, 1], "random", "every item in the order once"),
        ([2, 2], [0, 1, 2], "random", "every item in the order once"),
        ([3, 0], [0, 1, 2], "random", "none empty"),
        ([3], [0, 1, 2], "taste", "expected one of random"),
    ],
)
def test_refuses_what_are_no_groups(sizes, order, kind, message):
    with pytest.raises(InputError, match=message):
        Groups(np.array(sizes), np.array(order), kind)
