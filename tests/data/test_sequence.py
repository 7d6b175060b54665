import numpy as np
import pytest

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions
from elasticrec.data.splitting import SequenceConfig, informative_order, is_sorted, order_z_score

N_USERS, N_ITEMS, LENGTH = 400, 120, 15


def recorded(lists):
    """The pairs of item lists in the order of the lists."""
    lists = [np.asarray(items) for items in lists]
    users = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
    ids = Ids.dense(len(lists)), Ids.dense(N_ITEMS)
    return Interactions.of_columns(users, np.concatenate(lists), *ids, ordered=True).pairs


@pytest.fixture
def drifting(rng):
    """Lists of items that come into fashion one after the other, in no order of their numbers."""
    fashion = rng.permutation(N_ITEMS)
    lists = [rng.choice(N_ITEMS, size=LENGTH, replace=False) for _ in range(N_USERS)]
    return [items[np.argsort(fashion[items] + rng.normal(0, 80, LENGTH))] for items in lists]


def test_an_order_that_users_share_is_used(drifting, caplog):
    pairs = recorded(drifting)
    with caplog.at_level("INFO"):
        assert informative_order(pairs, "made") is pairs
    assert "made: the recorded order of items is used (z = " in caplog.text


def test_a_shuffled_order_is_not_used(drifting, rng, caplog):
    pairs = recorded([rng.permutation(items) for items in drifting])
    with caplog.at_level("INFO"):
        assert informative_order(pairs, "made").order is None
    assert "is no better than a shuffled one" in caplog.text
    assert informative_order(informative_order(pairs, "made"), "made").order is None


@pytest.mark.parametrize("key", ["rising", "falling", "title"])
def test_lists_sorted_by_a_key_are_not_used(drifting, rng, caplog, key):
    keys = {"rising": np.arange(N_ITEMS), "falling": -np.arange(N_ITEMS)}
    keys["title"] = rng.permutation(N_ITEMS)
    pairs = recorded([items[np.argsort(keys[key][items])] for items in drifting])
    assert order_z_score(pairs) > 100
    with caplog.at_level("INFO"):
        assert informative_order(pairs, "made").order is None
    assert "is sorted by a fixed key" in caplog.text


def test_few_lists_are_sorted_by_their_numbers_or_prove_nothing():
    assert is_sorted(recorded([[1, 2, 3], [4, 5]]))
    assert is_sorted(recorded([[1], [2]]))
    few = recorded([[3, 1, 2], [2, 3]])
    assert not is_sorted(few)
    assert order_z_score(few) < SequenceConfig().least_z
    assert order_z_score(recorded([[1], [2]])) == 0


def test_a_shuffled_order_has_a_z_near_nothing():
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(40):
        lists = [rng.choice(N_ITEMS, size=LENGTH, replace=False) for _ in range(100)]
        scores.append(order_z_score(recorded(lists)))
    assert abs(np.mean(scores)) < 0.5
    assert np.std(scores) < 1.5


def test_limits_decide(drifting):
    pairs = recorded(drifting)
    strict = SequenceConfig(least_z=order_z_score(pairs) + 1)
    assert informative_order(pairs, "made", strict).order is None
