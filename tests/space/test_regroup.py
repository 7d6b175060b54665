import numpy as np
import pytest

from elasticrec.training.cooccurrence import count_cooccurrence
from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Split
from elasticrec.space.regroup import (
    SpaceConfig,
    load_groups,
    make_groups,
    regroup,
    regroup_folder,
)


def pairs_of(codes, U, V):
    numbers = np.array(sorted(codes))
    return Pairs.from_arrays(numbers // V, numbers % V, n_users=U, n_items=V)


def a_model(U=12, V=30, seed=0):
    rng = np.random.default_rng(seed)

    popular = rng.random((U, V)) < np.linspace(0.9, 0.1, V)[rng.permutation(V)]
    codes = rng.permutation(np.flatnonzero(popular))
    cut = [len(codes) * 7 // 10, len(codes) * 8 // 10]
    train, validation, test = (pairs_of(part, U, V) for part in np.split(codes, cut))
    titles = np.array([f"title {i}" for i in range(V)], dtype=object)
    split = Split(train, validation, test, Ids.dense(U), Ids.dense(V), titles)
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


@pytest.fixture
def folder(tmp_path):
    split, table = a_model()
    folder = ModelFolder.create(tmp_path / "model")
    folder.save_model(split, table, count_cooccurrence(split.train, k=3))
    return folder


def test_a_folder_is_renumbered_with_everything_in_it(folder):
    before = folder.split(), folder.table(), folder.cooccurrence(), folder.model_id
    done = regroup_folder(folder, SpaceConfig(n_groups=4))
    again = ModelFolder.open(folder.root)
    assert again.split().fingerprint() == done.split.fingerprint()
    assert np.array_equal(again.table().blocks, before[1].blocks[done.groups.order])
    lists = again.cooccurrence()
    assert lists.fingerprint() == before[2].renumbered(done.groups.order).fingerprint()
    assert load_groups(again).fingerprint() == done.groups.fingerprint()
    assert again.model_id != before[3]


def test_grouping_again_alike_changes_nothing_and_otherwise_groups_anew(folder):
    regroup_folder(folder, SpaceConfig(n_groups=4))
    first = folder.model_id
    regroup_folder(folder, SpaceConfig(n_groups=4))
    assert folder.model_id == first
    other = regroup_folder(folder, SpaceConfig(n_groups=5))
    assert folder.model_id != first
    assert load_groups(ModelFolder.open(folder.root)).n_groups == other.groups.n_groups == 5


def test_a_folder_without_groups_or_with_another_table_is_refused(folder):
    with pytest.raises(InputError, match="has no groups"):
        load_groups(folder)
    regroup_folder(folder, SpaceConfig(n_groups=4))
    split, table = a_model(seed=1)
    folder.save_model(split, table)
    with pytest.raises(InputError, match="made from another split"):
        load_groups(folder)
    folder.record("groups", folder.fingerprint("groups"), ("split", "table"))
    make_groups(split, table, SpaceConfig(n_groups=4)).save(folder.path("groups"))
    with pytest.raises(InputError, match=r"not the file that model.json was written for"):
        load_groups(folder)
