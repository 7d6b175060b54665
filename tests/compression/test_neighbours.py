"""Neighbours: lists as they are stored, what they vote, and where they come from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from elasticrec.compression.config import CompressionConfig, LinearConfig
from elasticrec.compression.linear import (
    choose_voters,
    falling,
    held_back,
    linear_lists,
    shared_weight,
)
from elasticrec.compression.neighbours import Neighbours, make_neighbours, pack_lists
from elasticrec.data.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.interactions import Pairs

SPAN = CompressionConfig.vote_span


def settings_of(k=16, support=1):
    return CompressionConfig(longest_list=k, min_support=support)


def random_pairs(rng, n_users=30, n_items=12, n=120):
    return Pairs.from_arrays(
        rng.integers(n_users, size=n),
        rng.integers(n_items, size=n),
        n_users=n_users,
        n_items=n_items,
    )


def check_stored(lists, n_items, k):
    """The promises of the fields, which the stream's page makes too."""
    assert lists.numbers.shape == lists.votes.shape == (n_items, k)
    assert (lists.numbers.dtype, lists.votes.dtype) == (np.uint32, np.uint8)
    assert lists.values.dtype == np.uint16
    assert lists.values[0] == 0
    assert (np.diff(lists.values.astype(int)) >= 0).all()
    assert lists.votes.max(initial=0) <= 15
    assert (np.diff(lists.votes.astype(int), axis=1) <= 0).all()
    assert (lists.numbers[lists.votes == 0] == 0).all()
    assert lists.numbers.max(initial=0) < n_items
    for item, (numbers, votes) in enumerate(zip(lists.numbers, lists.votes, strict=True)):
        named = numbers[votes > 0].tolist()
        assert item not in named
        assert len(set(named)) == len(named)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n_users=st.integers(1, 30),
    n_items=st.integers(1, 40),
    n=st.integers(1, 300),
    support=st.integers(1, 4),
)
def test_every_entry_has_enough_persons_behind_it(seed, n_users, n_items, n, support):
    train = random_pairs(np.random.default_rng(seed), n_users, n_items, n)
    lists = make_neighbours(train, settings_of(support=support))
    check_stored(lists, n_items, 16)
    assert lists.min_support == support
    R = train.csr().toarray()
    together = R.T @ R
    for item, slot in zip(*np.nonzero(lists.votes), strict=True):
        assert together[item, lists.numbers[item, slot]] >= support


def test_two_tastes_never_vote_for_each_other(two_tastes):
    lists = make_neighbours(two_tastes.train, settings_of())
    half = two_tastes.n_items // 2
    side = np.arange(two_tastes.n_items) < half
    used = lists.votes > 0
    assert used[:, 0].all()
    assert (side[lists.numbers] == side[:, None])[used].all()


def test_equal_inputs_give_equal_lists(planted):
    one, other = (make_neighbours(planted.train, settings_of()) for _ in range(2))
    assert one.fingerprint() == other.fingerprint()


def test_votes_are_geometric_and_stand_for_the_mean_of_what_falls_on_them(rng):
    weights = -np.sort(-np.exp(rng.normal(size=(500, 16))), axis=1)
    items = np.tile(np.arange(16), (500, 1))
    lists = pack_lists(Cooccurrence(items, weights), SPAN)
    stored = lists.values[lists.votes] / lists.values.max()
    inside = (lists.votes > 1) & (lists.votes < 15)  # the outer votes hold what lies beyond
    low, high = np.quantile(np.log(weights), [0.05, 0.999])
    half_step = (high - low) / 14 / 2
    scale = weights[lists.votes == 15].mean()
    assert np.abs(np.log(stored * scale / weights))[inside].max() < 2.2 * half_step


def test_lists_without_any_weight_and_with_one_can_be_packed():
    nobody = pack_lists(Cooccurrence(np.full((4, 16), -1), np.zeros((4, 16))), SPAN)
    check_stored(nobody, 4, 16)
    assert not nobody.votes.any()
    one = pack_lists(Cooccurrence(np.array([[1], [-1]]), np.array([[0.25], [0.0]])), SPAN)
    check_stored(one, 2, 1)
    assert one.values[one.votes[0, 0]] == one.values.max() == 10_000


def greedy(X, target, candidates, k, ridge):
    """Voters of one target, one at a time, and their weights: loops and dense matrices."""
    left, chosen, b = X[:, target], [], np.zeros(0)
    while len(chosen) < k:
        rest = [j for j in candidates if j not in chosen and X[:, j] @ X[:, target] > 0]
        gain = {j: X[:, j] @ left / np.sqrt(X[:, j] @ X[:, j] + ridge) for j in rest}
        best = max(gain, key=gain.get, default=None)
        if best is None or gain[best] <= 1e-12:
            break
        chosen.append(best)
        S = X[:, chosen]
        b = np.linalg.solve(S.T @ S + ridge * np.eye(len(chosen)), S.T @ X[:, target])
        left = X[:, target] - S @ b
    return chosen, b


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), k=st.integers(1, 6), ridge=st.floats(0.5, 30))
def test_voters_are_chosen_as_plain_loops_choose_them(seed, k, ridge):
    rng = np.random.default_rng(seed)
    scale = rng.random(20) + 0.1
    X = (rng.random((20, 10)) < 0.4) * np.sqrt(scale)[:, None]
    lists = np.stack([np.append(np.delete(np.arange(10), t), t) for t in range(10)])
    lists[0, 8] = -1  # one candidate fewer
    G = shared_weight(csr_matrix(X.T), lists)
    for target in range(10):
        members = lists[target]
        dense = np.where(members >= 0, X[:, members], 0)
        np.testing.assert_allclose(G[target], dense.T @ dense, atol=1e-12)
    chosen, b = choose_voters(G[:, :9, :9], G[:, :9, 9], k, ridge, LinearConfig())
    for target in range(10):
        wanted, weights = greedy(X, target, [j for j in lists[target, :9] if j >= 0], k, ridge)
        found = [lists[target, place] for place in chosen[target] if place < 9]
        assert found == wanted
        np.testing.assert_allclose(b[target, : len(wanted)], weights, atol=1e-9)
        np.testing.assert_allclose(b[target, len(wanted) :], 0, atol=1e-12)


def test_the_first_voters_of_long_lists_are_those_of_short_ones_and_weights_are_of_all(rng):
    X = (rng.random((200, 40)) < 0.3).astype(float)
    lists = np.stack([np.append(np.delete(np.arange(40), t), t) for t in range(40)])
    G = shared_weight(csr_matrix(X.T), lists)
    short, _ = choose_voters(G[:, :39, :39], G[:, :39, 39], 16, 300.0, LinearConfig())
    long, b = choose_voters(G[:, :39, :39], G[:, :39, 39], 36, 300.0, LinearConfig())
    assert np.array_equal(long[:, :16], short)
    for target in range(40):
        some = long[target] < 39  # those who explain anything
        assert len(set(long[target, some])) == some.sum() > 16
        S = X[:, lists[target, long[target, some]]]
        wanted = np.linalg.solve(S.T @ S + 300 * np.eye(some.sum()), S.T @ X[:, target])
        np.testing.assert_allclose(b[target, some], wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("n_items", "longest"),
    [(1, 16), (8_191, 16), (8_192, 32), (16_383, 32), (16_384, 64), (10**6, 64)],
)
def test_lists_are_longer_where_there_are_more_items(n_items, longest):
    assert CompressionConfig().slots(n_items) == longest


def test_the_second_voter_is_not_a_copy_of_the_first():
    """Items 1 and 2 occur in the same histories; 3 in others. Co-occurrence would take 1 and 2."""
    histories = [[0, 1, 2]] * 6 + [[0, 3]] * 5 + [[4, 5]] * 6 + [[3, 4]] * 2
    users = np.repeat(np.arange(len(histories)), [len(h) for h in histories])
    train = Pairs.from_arrays(users, np.concatenate(histories), n_users=len(histories), n_items=6)
    config = LinearConfig(ridge=1.0, user_power=0.0, target_power=0.0)
    assert linear_lists(train, 2, config).items[0, :2].tolist() == [1, 3]
    assert count_cooccurrence(train, 2).items[0].tolist() == [1, 2]


def test_weights_fall_in_the_order_chosen_and_useless_voters_go():
    voters, weights = falling(
        np.array([[7, 8, 9, -1], [4, 5, 6, 3]]), np.array([[0.5, -0.1, 0.7, 0.0], [3.0, 1, 2, 1]])
    )
    assert voters.tolist() == [[7, 9, -1, -1], [4, 5, 6, 3]]
    assert weights.tolist() == [[0.5, 0.5, 0, 0], [3, 1, 1, 1]]


def test_target_power_scales_a_whole_list(planted):
    weights = np.ones((planted.n_items, 3), dtype=np.float32)
    scaled = held_back(weights, planted.train, 0.5)
    popularity = np.maximum(planted.train.per_item, 1)
    np.testing.assert_allclose(scaled, np.repeat(popularity[:, None] ** -0.5, 3, 1), rtol=1e-6)


def test_saved_lists_are_the_same(tmp_path, planted):
    lists = make_neighbours(planted.train, CompressionConfig(min_support=2))
    lists.save(tmp_path / "neighbours.npz")
    again = Neighbours.load(tmp_path / "neighbours.npz")
    assert again.fingerprint() == lists.fingerprint()
    assert (again.n_items, again.min_support) == (planted.n_items, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["neighbours.npz"]
