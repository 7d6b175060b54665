import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.splitting import (
    PARTS,
    published_split,
    split_by_time,
    split_by_user,
)


def made(rows, n_items=60, times=None, name="made"):
    """Interactions of one list of items per user."""
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    items = np.array([item for row in rows for item in row], dtype=np.int64)
    pairs = Pairs.from_arrays(users, items, n_users=len(rows), n_items=n_items)
    return Interactions(pairs, Ids.dense(len(rows)), Ids.dense(n_items), times=times, name=name)


ROWS = st.lists(
    st.one_of(st.just(set()), st.sets(st.integers(0, 59), min_size=2)), min_size=1, max_size=8
).filter(any)


@given(ROWS, st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_random_parts_share_out_every_pair(rows, seed):
    whole = made(rows)
    split = split_by_user(whole, rng=np.random.default_rng(seed))
    split.check()
    keys = np.concatenate([getattr(split, part).keys() for part in PARTS])
    assert sorted(keys.tolist()) == whole.pairs.keys().tolist()
    some = whole.pairs.per_user > 0
    assert (split.train.per_user[some] >= 1).all()
    assert (split.test.per_user[some] >= 1).all()


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        *((2, (1, 0, 1)), (3, (2, 0, 1)), (4, (3, 0, 1)), (5, (3, 1, 1)), (8, (5, 1, 2))),
        *((10, (7, 1, 2)), (15, (10, 2, 3)), (20, (14, 2, 4)), (50, (35, 5, 10))),
    ],
)
def test_rounding_of_shares(n, expected, rng):
    split = split_by_user(made([range(n)]), rng=rng)
    assert tuple(len(getattr(split, part)) for part in PARTS) == expected
    assert split.kind == "random-70-10-20"


def test_one_seed_gives_one_split_and_another_seed_another():
    whole = made([range(50)] * 5)
    prints = [
        split_by_user(whole, rng=np.random.default_rng(seed)).fingerprint() for seed in (1, 1, 2)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_every_item_is_as_likely_in_test(rng):
    split = split_by_user(made([range(60)] * 2_000), rng=rng)
    share = split.test.per_item / 2_000
    assert abs(share - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 2_000)


def test_other_fractions(rng):
    split = split_by_user(made([range(10)]), (0.5, 0.3, 0.2), rng=rng)
    assert [len(getattr(split, part)) for part in PARTS] == [5, 3, 2]
    assert split.kind == "random-50-30-20"
    greedy = split_by_user(made([range(2)]), (0.0, 0.1, 0.9), rng=rng)
    assert [len(getattr(greedy, part)) for part in PARTS] == [1, 0, 1]
    with pytest.raises(ValueError, match="expected three shares that sum to 1"):
        split_by_user(made([range(10)]), (0.7, 0.1, 0.1), rng=rng)


def test_a_user_with_one_interaction_is_refused(rng):
    with pytest.raises(InputError, match=r"made: user 1 has 1 interaction \(2 such users\)"):
        split_by_user(made([[1, 2], [3], [4]]), rng=rng)


def test_nothing_to_split_is_refused(rng):
    with pytest.raises(InputError, match="has no interactions"):
        split_by_user(made([[], []]), rng=rng)


def test_by_time_the_latest_are_in_test():
    rows = [range(10), range(20, 30)]
    times = np.concatenate([np.arange(10)[::-1], np.array([5] * 9 + [1])])
    split = split_by_time(made(rows, times=times))
    assert split.kind == "temporal"
    assert split.test.of(0).tolist() == [0, 1]
    assert split.validation.of(0).tolist() == [2]
    # equal times go by item number, and the one early time comes first
    assert split.train.of(1).tolist() == [20, 21, 22, 23, 24, 25, 29]
    assert split.test.of(1).tolist() == [27, 28]


def test_by_time_without_times_is_refused():
    with pytest.raises(InputError, match="has no times"):
        split_by_time(made([range(10)]))


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_nobody_is_tested_on_the_past(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(60, size=rng.integers(2, 40), replace=False) for _ in range(5)]
    times = rng.integers(0, 10**18, size=sum(map(len, rows)))
    whole = made(rows, times=times)
    split = split_by_time(whole)
    when = dict(zip(whole.pairs.keys().tolist(), times.tolist(), strict=True))
    for user in range(5):
        latest = [
            [when[user * 60 + item] for item in getattr(split, part).of(user)] for part in PARTS
        ]
        assert max(latest[0]) <= min(latest[2])
        if latest[1]:
            assert max(latest[0]) <= min(latest[1]) <= max(latest[1]) <= min(latest[2])


def test_published_parts_stay_and_an_eighth_of_some_users_is_held_out(rng):
    train = made([range(16)] * 40)
    test = made([[40, 41]] * 39 + [[]])
    split = published_split(train, test, rng=rng, validation_users=10)
    split.check()
    assert split.kind == "published"
    assert split.test.items.tolist() == test.pairs.items.tolist()
    assert sorted(split.validation.per_user.tolist()) == [0] * 30 + [2] * 10
    assert split.train.union(split.validation).keys().tolist() == train.pairs.keys().tolist()
    assert split.test.per_user[39] == 0
    assert (split.n_users, split.n_items) == (40, 60)


def test_everyone_gives_an_eighth_rounded_to_the_nearest():
    sizes = [1, 3, 4, 8, 11, 12, 20]
    train = made([range(n) for n in sizes])
    test = made([[50]] * len(sizes))
    split = published_split(train, test, rng=np.random.default_rng(0), everyone=True)
    assert split.validation.per_user.tolist() == [0, 0, 1, 1, 1, 2, 3]


def test_only_users_who_can_give_are_drawn(rng):
    train = made([range(2)] * 50 + [range(8)] * 5)
    split = published_split(train, made([[50]] * 55), rng=rng, validation_users=5_000)
    assert split.validation.per_user.tolist() == [0] * 50 + [1] * 5


def test_a_published_pair_in_both_parts_stays_in_train(rng, caplog):
    with caplog.at_level(logging.WARNING):
        split = published_split(made([[1, 2]]), made([[2, 3]]), rng=rng)
    split.check()
    assert split.test.of(0).tolist() == [3]
    assert "1 test pairs are also in train" in caplog.text
