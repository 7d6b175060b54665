import numpy as np
import pytest

from elasticrec.blocks.table import BlockTable
from elasticrec.data.errors import InputError
from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.splitting import Split
from elasticrec.space.regroup import SpaceConfig, make_groups, regroup


def a_model(U=12, V=30, seed=0):
    rng = np.random.default_rng(seed)

    def pairs(n):
        return Pairs.from_arrays(
            rng.integers(U, size=n), rng.integers(V, size=n) ** 2 // V, n_users=U, n_items=V
        )

    titles = np.array([f"title {i}" for i in range(V)], dtype=object)
    split = Split(pairs(150), pairs(20), pairs(40), Ids.dense(U), Ids.dense(V), titles)
    blocks = rng.normal(size=(V, 4, 2)).astype(np.float32)
    return split, BlockTable(blocks, rng.normal(size=(U, 8)).astype(np.float32), "mf")


@pytest.mark.parametrize("kind", ["random", "popularity", "cluster"])
def test_groups_become_ranges_and_nothing_else_changes(kind):
    split, table = a_model()
    done = regroup(split, table, SpaceConfig(kind, n_groups=4, seed=3))
    again = regroup(split, table, SpaceConfig(kind, n_groups=4, seed=3))
    assert done.groups.fingerprint() == again.groups.fingerprint()
    order = done.groups.order
    assert np.array_equal(done.table.blocks, table.blocks[order])
    assert np.array_equal(done.split.item_ids.values, split.item_ids.values[order])
    assert np.array_equal(done.split.titles, split.titles[order])
    assert np.array_equal(done.split.train.per_item, split.train.per_item[order])
    for user in range(split.n_users):
        before = split.item_ids.values[split.test.of(user)]
        after = done.split.item_ids.values[done.split.test.of(user)]
        assert sorted(before) == sorted(after)
    popularity = done.split.train.per_item
    for start, stop in zip(done.groups.bounds[:-1], done.groups.bounds[1:], strict=True):
        assert (np.diff(popularity[start:stop]) <= 0).all()


def test_popularity_is_counted_in_train_alone():
    split, table = a_model()
    other = Split(split.train, split.test, split.validation, split.user_ids, split.item_ids)
    config = SpaceConfig(n_groups=4)
    assert (
        make_groups(split, table, config).fingerprint()
        == make_groups(other, table, config).fingerprint()
    )


def test_the_papers_space():
    printed = SpaceConfig.printed()
    assert (printed.kind, printed.n_groups, printed.free, printed.as_printed) == (
        "random",
        20,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "taste"}, "expected one of random, popularity, cluster"),
        ({"n_groups": 0}, "expected at least one"),
        ({"pca": True}, "pca is for groups of kind 'cluster'"),
        ({"as_printed": True}, "as_printed is for free blocks"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SpaceConfig(**settings)
