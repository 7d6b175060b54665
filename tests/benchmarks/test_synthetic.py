import numpy as np
import pytest

from benchmarks.synthetic import planted_world, two_tastes
from elasticrec.data.split import PARTS


@pytest.mark.parametrize(("n_users", "n_items"), [(2, 6), (7, 11), (24, 40)])
def test_each_half_likes_one_half(n_users, n_items, rng):
    split = two_tastes(n_users, n_items, rng)
    split.check()
    whole = split.train.union(split.validation).union(split.test)
    first_users, first_items = (n_users + 1) // 2, (n_items + 1) // 2
    for user in range(n_users):
        half = range(first_items) if user < first_users else range(first_items, n_items)
        assert whole.of(user).tolist() == list(half)
        assert all(len(getattr(split, part).of(user)) for part in PARTS)


def test_two_tastes_too_small_is_refused(rng):
    with pytest.raises(ValueError, match="expected at least 2 and 6"):
        two_tastes(1, 10, rng)


def test_a_planted_world_has_the_size_asked_for(rng):
    split = planted_world(500, 300, 9_000, rng, n_clusters=10)
    split.check()
    assert (split.n_users, split.n_items) == (500, 300)
    assert sum(len(getattr(split, part)) for part in PARTS) == 9_000
    assert split.kind == "random-70-10-20"


def test_a_planted_world_is_fixed_by_its_seed():
    prints = [
        planted_world(50, 80, 900, np.random.default_rng(seed)).fingerprint() for seed in (3, 3, 4)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_planted_popularity_is_skewed_and_users_share_tastes(rng):
    split = planted_world(600, 400, 12_000, rng, n_clusters=20)
    popular = np.sort(split.train.per_item)[::-1]
    assert popular[:40].sum() > 0.25 * len(split.train)
    # someone else's items of the same taste tell more about a user than a stranger's do
    matrix = split.train.csr().toarray()
    norms = np.linalg.norm(matrix, axis=1, keepdims=True).clip(1)
    alike = (matrix / norms) @ (matrix / norms).T
    np.fill_diagonal(alike, -1)
    nearest = alike.argmax(axis=1)
    test = split.test.csr().toarray()
    hits, strangers = (test * matrix[nearest]).sum(), (test * matrix[rng.permutation(600)]).sum()
    assert hits > 1.5 * strangers


def test_an_impossible_world_is_refused(rng):
    with pytest.raises(ValueError, match="expected 10 to 25"):
        planted_world(10, 10, 60, rng)
