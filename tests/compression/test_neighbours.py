"""Neighbours: lists as they are stored, what they vote, and where they come from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from elasticrec.compression.linear import (
    ONE_BY_ONE,
    PLAIN,
    LinearConfig,
    choose_voters,
    falling,
    shared_weight,
)
from elasticrec.compression.neighbours import (
    CooccurrenceConfig,
    Neighbours,
    both_linear,
    check_lists,
    cooccurrence_neighbours,
    linear_neighbours,
    longest_list,
    packed,
)
from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs

SOURCES = {"cooccurrence": cooccurrence_neighbours, "linear": linear_neighbours}


def random_pairs(rng, n_users=30, n_items=12, n=120):
    return Pairs.from_arrays(
        rng.integers(n_users, size=n),
        rng.integers(n_items, size=n),
        n_users=n_users,
        n_items=n_items,
    )


def check_stored(lists, n_items, k):
    """The promises of the fields, which the bundle's page makes too."""
    assert lists.numbers.shape == lists.weights.shape == (n_items, k)
    assert (lists.numbers.dtype, lists.weights.dtype) == (np.uint32, np.uint8)
    assert lists.values.dtype == np.float32
    assert lists.values[0] == 0
    assert (np.diff(lists.values) >= 0).all()
    assert lists.weights.max(initial=0) <= 15
    assert (np.diff(lists.weights.astype(int), axis=1) <= 0).all()
    assert (lists.numbers[lists.weights == 0] == 0).all()
    assert lists.numbers.max(initial=0) < n_items
    for item, (numbers, weights) in enumerate(zip(lists.numbers, lists.weights, strict=True)):
        named = numbers[weights > 0].tolist()
        assert item not in named
        assert len(set(named)) == len(named)


@pytest.mark.parametrize("source", SOURCES)
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n_users=st.integers(1, 30),
    n_items=st.integers(1, 40),
    n=st.integers(1, 200),
    k=st.integers(1, 64),
)
def test_any_history_gives_sound_lists(source, seed, n_users, n_items, n, k):
    train = random_pairs(np.random.default_rng(seed), n_users, n_items, n)
    lists = SOURCES[source](train, k)
    check_stored(lists, n_items, k)
    assert (lists.weights[:, k:] == 0).all()
    R = train.csr().toarray()
    together = R.T @ R
    for item, number in zip(*np.nonzero(lists.weights), strict=True):
        assert together[item, lists.numbers[item, number]] > 0


@pytest.mark.parametrize("source", SOURCES)
def test_two_tastes_never_vote_for_each_other(source, two_tastes):
    lists = SOURCES[source](two_tastes.train)
    half = two_tastes.n_items // 2
    side = np.arange(two_tastes.n_items) < half
    used = lists.weights > 0
    assert used[:, 0].all()
    assert (side[lists.numbers] == side[:, None])[used].all()


@pytest.mark.parametrize("source", SOURCES)
def test_equal_inputs_give_equal_lists(source, planted):
    one, other = (SOURCES[source](planted.train) for _ in range(2))
    assert one.fingerprint() == other.fingerprint()


def test_votes_are_sums_over_the_history_slot_by_slot(rng):
    weights = -np.sort(-rng.integers(0, 16, size=(12, 16)), axis=1).astype(np.uint8)
    numbers = np.where(weights > 0, rng.integers(0, 12, size=(12, 16)), 0).astype(np.uint32)
    values = np.concatenate(([0], np.sort(rng.random(15)))).astype(np.float32)
    lists = Neighbours(numbers, weights, values)
    history = (rng.random((7, 12)) < 0.3).astype(np.float32)
    for count in (0, 1, 4, 16):
        found = lists.votes(csr_matrix(history), count, 3, 11)
        assert found.dtype == np.float32
        for person in range(7):
            for item in range(3, 11):
                wanted = sum(
                    values[weights[item, slot]]
                    for slot in range(count)
                    if weights[item, slot] and history[person, numbers[item, slot]]
                )
                assert found[person, item - 3] == pytest.approx(wanted, abs=1e-5)


def test_an_empty_slot_does_not_vote_though_its_number_is_0():
    empty = np.zeros((3, 16))
    lists = Neighbours(empty.astype(np.uint32), empty.astype(np.uint8), np.ones(16, np.float32))
    assert not lists.votes(csr_matrix(np.ones((1, 3))), 16, 0, 3).any()


def test_levels_are_geometric_and_stand_for_the_mean_of_what_falls_on_them(rng):
    weights = -np.sort(-np.exp(rng.normal(size=(500, 16))), axis=1)
    items = np.tile(np.arange(16), (500, 1))
    lists = packed(items, weights)
    stored = lists.values[lists.weights]
    inside = (lists.weights > 1) & (lists.weights < 15)  # the outer levels hold what lies beyond
    low, high = np.quantile(np.log(weights), [0.05, 0.999])
    half_step = (high - low) / 14 / 2
    # A weight lies in its level, and so does the mean that stands for the level.
    assert np.abs(np.log(stored / weights))[inside].max() < 2 * half_step
    for level in range(1, 16):
        mean = weights[lists.weights == level].mean()
        assert lists.values[level] == pytest.approx(mean, rel=1e-5)


def test_lists_without_any_weight_and_with_one_can_be_stored():
    nobody = packed(np.full((4, 16), -1), np.zeros((4, 16)))
    check_stored(nobody, 4, 16)
    assert not nobody.weights.any()
    one = packed(np.array([[1], [-1]]), np.array([[0.25], [0.0]]))
    check_stored(one, 2, 1)
    assert one.values[one.weights[0, 0]] == np.float32(0.25)
    with pytest.raises(InputError, match="lists of 65 neighbours, expected at most 64"):
        packed(np.full((4, 65), -1), np.zeros((4, 65)))


def test_cooccurrence_weights_are_the_formula(rng):
    train = random_pairs(rng)
    config = CooccurrenceConfig(user_power=0.3, voter_power=0.2, target_power=0.7)
    lists = cooccurrence_neighbours(train, 3, config)
    R = train.csr().toarray().astype(float)
    n = R.sum(axis=0)
    c = R.T @ np.diag(np.maximum(R.sum(axis=1), 1) ** -0.3) @ R
    sums = c / n[None, :] ** 0.2 / n[:, None] ** 0.7  # [target, voter]
    np.fill_diagonal(sums, 0)
    for item in range(12):
        order = np.lexsort((np.arange(12), -sums[item]))[:3]
        assert lists.numbers[item, :3].tolist() == order.tolist()
        stored = lists.values[lists.weights[item, :3]]
        np.testing.assert_allclose(stored, sums[item, order], rtol=0.35)


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
    chosen, b = choose_voters(G[:, :9, :9], G[:, :9, 9], k, ridge)
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
    short, _ = choose_voters(G[:, :39, :39], G[:, :39, 39], ONE_BY_ONE, 300.0)
    long, b = choose_voters(G[:, :39, :39], G[:, :39, 39], 36, 300.0)
    assert np.array_equal(long[:, :ONE_BY_ONE], short)
    for target in range(40):
        some = long[target] < 39  # those who explain anything
        assert len(set(long[target, some])) == some.sum() > ONE_BY_ONE
        S = X[:, lists[target, long[target, some]]]
        wanted = np.linalg.solve(S.T @ S + 300 * np.eye(some.sum()), S.T @ X[:, target])
        np.testing.assert_allclose(b[target, some], wanted, atol=1e-9)


def test_both_linear_lists_have_the_same_voters(planted):
    held_back, plain = both_linear(planted.train, 20)
    assert np.array_equal(held_back.numbers, plain.numbers)
    assert held_back.fingerprint() == linear_neighbours(planted.train, 20).fingerprint()
    assert plain.fingerprint() == linear_neighbours(planted.train, 20, PLAIN).fingerprint()


@pytest.mark.parametrize(
    ("n_items", "longest"),
    [(1, 16), (8_191, 16), (8_192, 32), (16_383, 32), (16_384, 64), (10**6, 64)],
)
def test_lists_are_longer_where_there_are_more_items(n_items, longest):
    assert longest_list(n_items) == longest


def test_a_menu_of_more_neighbours_than_there_are_is_refused(planted):
    lists = cooccurrence_neighbours(planted.train, 8)
    check_lists(np.array([0, 8]), lists)
    with pytest.raises(InputError, match="up to 9 neighbours, lists of 8"):
        check_lists(np.array([0, 9]), lists)


def test_the_second_voter_is_not_a_copy_of_the_first():
    """Items 1 and 2 occur in the same histories; 3 in others. Co-occurrence would take 1 and 2."""
    histories = [[0, 1, 2]] * 6 + [[0, 3]] * 5 + [[4, 5]] * 6 + [[3, 4]] * 2
    users = np.repeat(np.arange(len(histories)), [len(h) for h in histories])
    train = Pairs.from_arrays(users, np.concatenate(histories), n_users=len(histories), n_items=6)
    config = LinearConfig(ridge=1.0, user_power=0.0, target_power=0.0)
    assert linear_neighbours(train, 2, config).numbers[0, :2].tolist() == [1, 3]
    assert cooccurrence_neighbours(train, 2).numbers[0, :2].tolist() == [1, 2]


def test_weights_fall_in_the_order_chosen_and_useless_voters_go():
    voters, weights = falling(
        np.array([[7, 8, 9, -1], [4, 5, 6, 3]]), np.array([[0.5, -0.1, 0.7, 0.0], [3.0, 1, 2, 1]])
    )
    assert voters.tolist() == [[7, 9, -1, -1], [4, 5, 6, 3]]
    assert weights.tolist() == [[0.5, 0.5, 0, 0], [3, 1, 1, 1]]


def test_target_power_scales_a_whole_list_and_changes_no_choice(planted):
    train = planted.train
    plain = linear_neighbours(train, config=LinearConfig(target_power=0.0))
    scaled = linear_neighbours(train, config=LinearConfig(target_power=0.5))
    np.testing.assert_array_equal(plain.numbers, scaled.numbers)
    first = [lists.values[lists.weights[:, 0]].astype(float) for lists in (plain, scaled)]
    ratio = first[0] / first[1] / np.sqrt(train.per_item)
    assert 0.6 < ratio.min() <= ratio.max() < 1.6  # up to the levels


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="0 candidates and ridge"):
        LinearConfig(candidates=0)
    with pytest.raises(InputError, match="above 0"):
        LinearConfig(ridge=0.0)


def test_what_was_saved_comes_back(tmp_path, planted):
    lists = cooccurrence_neighbours(planted.train)
    lists.save(tmp_path / "neighbours.npz")
    again = Neighbours.load(tmp_path / "neighbours.npz")
    assert again.fingerprint() == lists.fingerprint()
    assert again.n_items == planted.n_items
    assert [path.name for path in tmp_path.iterdir()] == ["neighbours.npz"]
