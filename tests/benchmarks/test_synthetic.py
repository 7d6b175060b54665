import numpy as np
import polars as pl
import pytest

from benchmarks.synthetic import World, planted_world, split_of, two_tastes
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


def test_the_best_list_is_the_best(rng):
    """No list finds more of what planted users take next than the one by known chances."""
    world = World.planted(2_000, 500, 60_000, 1, n_clusters=25)
    split = split_of(world, rng)
    users = np.arange(2_000)
    best = world.best_lists(users, split.train, 20)
    test = split.test.csr().toarray()
    hits = np.take_along_axis(test, best, axis=1).sum()
    train = split.train.csr()
    popular = np.where(train.toarray() > 0, -1, split.train.per_item)
    item_to_item = np.where(train.toarray() > 0, -1, (train @ (train.T @ train)).toarray())
    for scores in (popular, item_to_item):
        others = np.argsort(-scores, axis=1, kind="stable")[:, :20]
        assert np.take_along_axis(test, others, axis=1).sum() < hits
    assert not np.take_along_axis(train.toarray(), best, axis=1).any()
    own = world.cluster[best.ravel()].reshape(best.shape)
    assert (own[:, 0, None] == world.homes).any(1).double().mean() > 0.9


def test_draws_follow_the_known_chances():
    world = World.planted(3_000, 40, 9_000, 2, n_clusters=4, skew=0.5)
    first = np.concatenate(
        [items[quota.cumsum(0) - quota].numpy() for _, quota, items in world.blocks()]
    )
    homes = world.homes.numpy() == world.cluster.numpy()[first][:, None]
    # a draw is of an own cluster by taste, or by chance from anywhere
    expected = 0.8 + 0.2 * np.mean([len(set(pair)) / 4 for pair in world.homes.tolist()])
    assert abs(homes.any(1).mean() - expected) < 0.03


def test_a_log_holds_the_world_in_order(tmp_path):
    world = World.planted(50, 80, 900, 3)
    world.write_log(tmp_path, 4)
    frames = [pl.read_parquet(tmp_path / f"part-000{k}.parquet") for k in range(4)]
    log = pl.concat(frames)
    assert len(log) == len(log.unique(["user_id", "item_id"])) == 900
    assert log["timestamp"].is_sorted()
    counts = log["user_id"].value_counts().sort(pl.col("user_id").str.slice(9).cast(pl.Int64))
    assert counts["count"].to_list() == world.quotas.tolist()
