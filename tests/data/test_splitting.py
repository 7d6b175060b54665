import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data import splitting
from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.split import PARTS
from elasticrec.data.splitting import by_popularity, published_split
from elasticrec.errors import InputError

SHARES = (0.7, 0.1, 0.2)


def random_split(whole, fractions=SHARES, **more):
    return splitting.random_split(whole, fractions, **more)


def last_split(whole, fractions=SHARES):
    return splitting.last_split(whole, fractions)


def temporal_split(whole, fractions=SHARES):
    return splitting.temporal_split(whole, fractions)


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
    split = random_split(whole, rng=np.random.default_rng(seed))
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
    split = random_split(made([range(n)]), rng=rng)
    assert tuple(len(getattr(split, part)) for part in PARTS) == expected
    assert split.kind == "random-70-10-20"


def test_one_seed_gives_one_split_and_another_seed_another():
    whole = made([range(50)] * 5)
    prints = [
        random_split(whole, rng=np.random.default_rng(seed)).fingerprint() for seed in (1, 1, 2)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_every_item_is_as_likely_in_test(rng):
    split = random_split(made([range(60)] * 2_000), rng=rng)
    share = split.test.per_item / 2_000
    assert abs(share - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 2_000)


def test_other_fractions(rng):
    split = random_split(made([range(10)]), (0.5, 0.3, 0.2), rng=rng)
    assert [len(getattr(split, part)) for part in PARTS] == [5, 3, 2]
    assert split.kind == "random-50-30-20"
    greedy = random_split(made([range(2)]), (0.0, 0.1, 0.9), rng=rng)
    assert [len(getattr(greedy, part)) for part in PARTS] == [1, 0, 1]
    with pytest.raises(ValueError, match="expected three shares that sum to 1"):
        random_split(made([range(10)]), (0.7, 0.1, 0.1), rng=rng)


def test_the_only_item_of_a_user_is_in_train(rng):
    split = random_split(made([[1, 2], [3], []]), rng=rng)
    assert split.train.per_user.tolist() == [1, 1, 0]


def ordered(rows, **options):
    """Interactions of one list of items per user, each oldest first."""
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    items = np.array([item for row in rows for item in row], dtype=np.int64)
    ids = Ids.dense(len(rows)), Ids.dense(60)
    return Interactions.of_columns(users, items, *ids, name="made", ordered=True, **options)


@given(st.lists(st.permutations(range(15)), min_size=1, max_size=5))
@settings(deadline=None, max_examples=30)
def test_the_last_items_of_each_user_are_in_test(rows):
    split = last_split(ordered(rows))
    split.check()
    assert split.kind == "last-70-10-20"
    for user, row in enumerate(rows):
        assert split.history()[user].tolist() == row[:10]
        assert split.validation.history()[user].tolist() == row[10:12]
        assert split.test.history()[user].tolist() == row[12:]


def test_the_last_items_need_an_order():
    with pytest.raises(InputError, match="has neither times nor a recorded order"):
        last_split(made([range(10)]))
    with pytest.raises(InputError, match="has neither times nor a recorded order"):
        published_split(made([range(10)]), made([[20]]), rng=None, last=True)


def test_one_cut_in_time_for_all_users():
    rows = [range(10), range(10, 20), [20]]
    times = np.array([*range(10), *range(10, 20), 18])
    split = temporal_split(ordered(rows, times=times))
    split.check()
    assert split.kind == "temporal-70-10-20"
    assert split.train.per_user.tolist() == [10, 5, 0]
    assert split.validation.of(1).tolist() == [15, 16]
    assert split.test.per_user.tolist() == [0, 3, 1]


def test_equal_times_are_never_cut_apart():
    times = np.array([5] * 6 + [6] * 2 + [7] * 2)
    split = temporal_split(ordered([range(10)], times=times))
    assert [len(getattr(split, part)) for part in PARTS] == [6, 2, 2]
    with pytest.raises(InputError, match="has 2 different times, too few for a cut"):
        temporal_split(ordered([range(10)], times=np.array([5] * 6 + [6] * 4)))


def test_a_cut_in_time_needs_times():
    with pytest.raises(InputError, match="has no times"):
        temporal_split(ordered([range(10)]))


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_the_parts_of_a_cut_follow_each_other(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(60, size=rng.integers(2, 40), replace=False) for _ in range(5)]
    whole = ordered(rows, times=rng.integers(0, 10**18, size=sum(map(len, rows))))
    split = temporal_split(whole)
    when = dict(zip(whole.pairs.keys().tolist(), whole.times.tolist(), strict=True))
    parts = split.train, split.validation, split.test
    train, validation, test = ([when[key] for key in part.keys().tolist()] for part in parts)
    assert max(train) < min(validation) <= max(validation) < min(test)


def test_everyone_gives_an_eighth_of_train_rounded_to_the_nearest(rng):
    sizes = [0, 1, 3, 4, 8, 11, 12, 20]
    train = made([range(n) for n in sizes])
    test = made([[50]] * len(sizes))
    split = published_split(train, test, rng=rng)
    split.check()
    assert split.kind == "published-random"
    assert split.validation.per_user.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert split.train.union(split.validation).keys().tolist() == train.pairs.keys().tolist()
    assert split.test.keys().tolist() == test.pairs.keys().tolist()
    assert published_split(train, test, rng=np.random.default_rng(9)).fingerprint() != (
        split.fingerprint()
    )


def test_an_eighth_of_the_last_train_items(rng):
    row = rng.permutation(24)
    split = published_split(ordered([row]), ordered([[50, 40]]), rng=rng, last=True)
    split.check()
    assert split.kind == "published-last"
    assert split.history()[0].tolist() == row[:21].tolist()
    everything = split.train.union(split.validation).union(split.test)
    assert everything.history()[0].tolist() == [*row, 50, 40]


def test_a_published_pair_in_both_parts_stays_in_train(rng, caplog):
    with caplog.at_level(logging.WARNING):
        split = published_split(ordered([[2, 1]]), ordered([[3, 2]]), rng=rng)
    split.check()
    assert split.test.of(0).tolist() == [3]
    assert "1 test pairs are also in train" in caplog.text


def test_items_are_numbered_by_falling_train_popularity():
    rows = [[0, 2, 3, 1], [2, 3, 1], [3, 0, 2]]
    split = last_split(ordered(rows), (0.7, 0.0, 0.3))
    moved, order = by_popularity(split)
    assert order[:5].tolist() == [3, 0, 2, 1, 4]
    assert moved.item_ids.values.tolist() == order.tolist()
    assert [moved.history()[user].tolist() for user in range(3)] == [[1, 2, 0], [2, 0], [0, 1]]
    assert by_popularity(moved)[1].tolist() == list(range(60))
