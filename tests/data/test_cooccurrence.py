"""Co-occurrence lists against a dense brute force, ties and all."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data import cooccurrence
from elasticrec.data.cooccurrence import count_cooccurrence
from elasticrec.data.interactions import Pairs


def draw(seed, n_users, n_items, share):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    return Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)


def brute_force(train):
    """(V, V) strength of every pair of items, one shared user after the other; 0 with itself."""
    R = train.csr().toarray()
    per_user, per_item = R.sum(axis=1), R.sum(axis=0)
    strength = np.zeros((train.n_items, train.n_items))
    for i in range(train.n_items):
        for j in range(train.n_items):
            for u in np.flatnonzero(R[:, i] * R[:, j]):
                strength[i, j] += (i != j) / np.sqrt(per_user[u] * per_item[i] * per_item[j])
    return strength


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    n_items=st.integers(1, 60),
    share=st.sampled_from([0.02, 0.1, 0.5]),
    k=st.integers(1, 12),
    entries=st.sampled_from([1, 70, 10_000]),
)
def test_equals_a_dense_brute_force(seed, n_items, share, k, entries):
    train = draw(seed, 12, n_items, share)
    with patch.object(cooccurrence, "ENTRIES", entries):
        found = count_cooccurrence(train, k)
    strength = brute_force(train)
    strongest = -np.sort(-np.pad(strength, ((0, 0), (0, k))), axis=1)[:, :k]
    np.testing.assert_allclose(found.weights, strongest, rtol=1e-6)
    for row, (items, weights) in enumerate(zip(found.items, found.weights, strict=True)):
        assert ((items >= 0) == (weights > 0)).all()
        listed = items[items >= 0]
        assert len(np.unique(listed)) == len(listed)
        np.testing.assert_allclose(strength[row, listed], weights[: len(listed)], rtol=1e-6)
        falling = np.lexsort((listed, -weights[: len(listed)]))
        assert falling.tolist() == list(range(len(listed)))  # ties by rising number
        left_out = np.setdiff1d(np.flatnonzero(strength[row]), listed)
        tied = left_out[strength[row, left_out].astype("f4") == weights[-1]]
        assert not len(tied) or tied.min() > listed[weights[: len(listed)] == weights[-1]].max()


def test_hand_worked_weights_and_ties_to_the_lower_number():
    # ann took 0 1 2, bob took 0 3: item 0 meets 1 and 2 through ann, 3 through bob
    train = Pairs.from_arrays(
        np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 3]), n_users=2, n_items=5
    )
    found = count_cooccurrence(train, 3)
    assert found.items[0].tolist() == [3, 1, 2]
    np.testing.assert_allclose(found.weights[0], [1 / np.sqrt(4), 1 / np.sqrt(6), 1 / np.sqrt(6)])
    assert found.items[3].tolist() == [0, -1, -1]
    assert found.items[4].tolist() == [-1, -1, -1]
    assert found.weights[4].tolist() == [0, 0, 0]


def test_long_rows_of_equal_weights_keep_the_lowest_numbers():
    """Everyone took everything: all weights are equal, so only the tie rule decides."""
    users, items = np.divmod(np.arange(3 * 500), 500)
    train = Pairs.from_arrays(users, items, n_users=3, n_items=500)
    found = count_cooccurrence(train, 4)
    assert found.items[0].tolist() == [1, 2, 3, 4]
    assert (found.items[4:] == np.arange(4)).all()


def test_a_long_row_between_short_ones_is_cut_at_its_own_ends():
    """Item 1's row is long; the rows beside it hold far larger weights."""
    one = [(0, 1)] + [(0, j) for j in range(10, 200)]  # weak ties of a user with many items
    strong = [(1, 0), (1, 2), (2, 3), (2, 4)]  # strong ties of users with two
    users, items = np.array(one + strong).T
    train = Pairs.from_arrays(users, items, n_users=3, n_items=200)
    found = count_cooccurrence(train, 5)
    assert found.items[1].tolist() == [10, 11, 12, 13, 14]
    assert found.items[0].tolist() == [2, -1, -1, -1, -1]
