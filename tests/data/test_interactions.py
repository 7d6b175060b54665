import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Ids, Interactions, Pairs, fingerprint

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
        (np.array([0, 2]), np.array([2, 2], np.int32), "ascending"),
        (np.array([0, 2]), np.array([3, 2], np.int32), "ascending"),
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


def test_of_duplicates_the_earliest_time_stays():
    whole = Interactions.of_columns(
        np.array([1, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        Ids.of(["a", "b"]),
        Ids.of([5, 6]),
        times=np.array([30, 20, 10, 40]),
    )
    assert whole.pairs.users.tolist() == [0, 1, 1]
    assert whole.pairs.items.tolist() == [1, 0, 1]
    assert whole.times.tolist() == [20, 10, 40]


def test_fingerprint_sees_names_types_shapes_and_values():
    base = {"a": np.arange(4)}
    assert fingerprint(base) == fingerprint({"a": np.arange(4)})
    others = [{"b": np.arange(4)}, {"a": np.arange(4, dtype=np.int32)}]
    others += [{"a": np.arange(4).reshape(2, 2)}, {"a": np.array([0, 1, 2, 4])}]
    assert fingerprint(base) not in {fingerprint(other) for other in others}
