from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Ids, Interactions, Pairs

CELLS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=40)


def pairs_of(cells, n_users=5, n_items=7):
    users, items = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)


@given(CELLS)
@settings(deadline=None, max_examples=60)
def test_pairs_are_the_set_of_cells(cells):
    pairs = pairs_of(cells)
    pairs.check()
    assert list(zip(pairs.users.tolist(), pairs.items.tolist(), strict=True)) == sorted(set(cells))
    for user in range(5):
        assert pairs.of(user).tolist() == sorted({i for u, i in cells if u == user})
    assert pairs.per_user.sum() == pairs.per_item.sum() == len(pairs)
    assert (pairs.csr().toarray() != 0).sum() == len(set(cells))


@given(CELLS, CELLS)
@settings(deadline=None, max_examples=40)
def test_union_is_the_union_of_sets(a, b):
    union = pairs_of(a).union(pairs_of(b))
    assert set(zip(union.users.tolist(), union.items.tolist(), strict=True)) == {*a, *b}


@given(CELLS, st.lists(st.integers(0, 4), max_size=6))
@settings(deadline=None, max_examples=40)
def test_rows_follow_the_order_given(cells, chosen):
    pairs = pairs_of(cells)
    rows = pairs.rows(np.array(chosen, dtype=np.int64))
    rows.check()
    assert [rows.of(k).tolist() for k in range(len(chosen))] == [
        pairs.of(user).tolist() for user in chosen
    ]


def test_renumbering_items_and_back():
    pairs = pairs_of([(0, 0), (0, 6), (3, 2)])
    new_of_old = np.array([3, 4, 5, 6, 0, 1, 2])
    moved = pairs.renumbered(new_of_old)
    assert moved.of(0).tolist() == [2, 3]
    back = moved.renumbered(np.argsort(new_of_old))
    assert back.items.tolist() == pairs.items.tolist()


def test_no_items_at_all():
    empty = Pairs.from_arrays(np.zeros(0, int), np.zeros(0, int), n_users=2, n_items=0)
    empty.check()
    assert (empty.n_users, len(empty)) == (2, 0)


@pytest.mark.parametrize(
    ("indptr", "items", "message"),
    [
        (np.array([0, 2]), np.array([0, 9], np.int32), "reach from 0 to 9, expected 0 to 6"),
        (np.array([0, 2]), np.array([-1, 2], np.int32), "reach from -1"),
        (np.array([0, 3]), np.array([1, 2], np.int32), "span"),
        (np.array([1, 2]), np.array([1, 2], np.int32), "span"),
        (np.zeros(0, np.int64), np.zeros(0, np.int32), "span"),
        (np.array([0, 2, 1, 2]), np.array([1, 2], np.int32), "fall"),
        (np.array([0, 2]), np.array([1.0, 2.0]), "float64"),
        (np.array([[0, 2]]), np.array([1, 2], np.int32), "2 axes"),
    ],
)
def test_broken_promises_are_named(indptr, items, message):
    with pytest.raises(ValueError, match=message):
        Pairs(indptr, items, 7).check()


def whole_of(cells, **options):
    """Interactions of rows (user, item) among the users a, b and the items 5, 6, 7."""
    users, items = np.array(cells).T
    return Interactions.of_columns(users, items, Ids.of(["a", "b"]), Ids.of([5, 6, 7]), **options)


CLICKS = [(1, 0), (0, 1), (1, 2), (1, 0), (1, 1)]


def test_of_duplicates_the_earliest_time_stays():
    whole = whole_of(CLICKS, times=np.array([30, 20, 25, 10, 40]))
    assert whole.pairs.users.tolist() == [0, 1, 1, 1]
    assert whole.pairs.items.tolist() == [1, 0, 1, 2]
    assert whole.times.tolist() == [20, 10, 40, 25]
    assert whole.pairs.order.tolist() == [0, 0, 2, 1]
    assert whole.pairs.history()[1].tolist() == [0, 2, 1]


def test_rows_are_an_order_only_if_they_are_said_to_be():
    ordered = whole_of(CLICKS, ordered=True).pairs
    assert ordered.order.tolist() == [0, 0, 2, 1]
    unordered = whole_of(CLICKS).pairs
    assert unordered.order is None
    assert unordered.history()[1].tolist() == [0, 1, 2]


def test_times_outrank_rows_and_equal_times_go_by_item_number():
    whole = whole_of(CLICKS, times=np.array([7, 7, 7, 7, 3]), ordered=True)
    assert whole.pairs.history()[1].tolist() == [1, 0, 2]


@given(st.lists(st.permutations(range(7)), min_size=3, max_size=3), st.randoms())
@settings(deadline=None, max_examples=40)
def test_an_order_survives_every_change_of_numbers(lists, random):
    users = np.repeat(np.arange(3), 7)
    pairs = Pairs.from_arrays(
        users, np.concatenate(lists), n_users=3, n_items=7, order=np.arange(21, dtype=np.int32)
    )
    pairs.check()
    older = np.array([random.random() < 0.5 for _ in range(21)])
    parts = pairs.where(older).union(pairs.where(~older))
    new_of_old = np.array(random.sample(range(7), 7))
    moved = parts.renumbered(new_of_old).rows(np.array([2, 0]))
    moved.check()
    for k, user in enumerate([2, 0]):
        assert moved.history()[k].tolist() == new_of_old[lists[user]].tolist()
        assert moved.history([k])[0].tolist() == new_of_old[lists[user]].tolist()


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0], "1 places for 2 pairs"),
        ([0.0, 1.0], "float64"),
    ],
)
def test_a_broken_order_is_named(order, message):
    kind = np.float64 if isinstance(order[0], float) else np.int32
    indptr, items = np.array([0, 2]), np.array([1, 2], np.int32)
    with pytest.raises(ValueError, match=message):
        Pairs(indptr, items, 7, np.array(order, kind)).check()


def test_weights_of_duplicates_add_up_and_stay_with_their_pairs():
    users, items = np.array([1, 0, 1, 1]), np.array([2, 0, 1, 2])
    weights = np.array([1.0, 2.0, 4.0, 8.0])
    for order in (None, np.array([3, 2, 1, 0], dtype=np.int32)):
        pairs = Pairs.from_arrays(users, items, n_users=2, n_items=3, order=order, weights=weights)
        pairs.check()
        assert pairs.weights.tolist() == [2, 4, 9]
    assert pairs.rows(np.array([1, 0])).weights.tolist() == [4, 9, 2]
    assert pairs.where(pairs.items > 0).weights.tolist() == [4, 9]
    assert pairs.renumbered(np.array([2, 1, 0])).weights.tolist() == [2, 9, 4]
    rest = pairs.where(pairs.items == 0)
    assert pairs.where(pairs.items > 0).union(rest).weights.tolist() == [2, 4, 9]


def test_broken_weights_are_named():
    pairs = Pairs.from_arrays(np.zeros(3, int), np.arange(3), n_users=1, n_items=3)
    with pytest.raises(ValueError, match="weight"):
        replace(pairs, weights=np.ones(2, np.float32)).check()
