"""Settling: fixed points, known directions, and better than the sum it starts from."""

import numpy as np
import pytest

from elasticrec.blocks.folding import settled
from elasticrec.data.interactions import Pairs


def histories(lists, n_items):
    users = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    items = np.concatenate([np.array(each, dtype=np.int64) for each in lists])
    return Pairs.from_arrays(users, items, n_users=len(lists), n_items=n_items)


def loss(p, mine, items, temperature):
    """The softmax loss of one person against all items, pair by pair."""
    logits = items @ p / temperature
    others = np.log(np.exp(logits).sum())
    return sum(np.log1p(np.exp(others - logits[i])) for i in mine)


def test_a_person_moves_away_from_what_everybody_is_shown():
    # items 0 and 1 share a first axis with many others; what is hers alone is the second axis
    items = np.array([[1.0, 1.0, 0.0], [1.0, 0.9, 0.1]] + [[1.0, 0.0, 0.1 * k] for k in range(9)])
    start = np.array([[1.0, 0.0, 0.0]])
    found = settled(start, histories([[0, 1]], len(items)), items, 0.2)[0]
    assert found[1] > 0.2
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_settling_lowers_the_loss_of_every_person():
    rng = np.random.default_rng(0)
    items = rng.normal(size=(60, 8))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    lists = [rng.choice(60, 5, replace=False).tolist() for _ in range(20)]
    start = np.stack([items[mine].sum(axis=0) for mine in lists])
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    found = settled(start, histories(lists, 60), items, 0.1)
    for before, after, mine in zip(start, found, lists, strict=True):
        assert loss(after, mine, items, 0.1) < loss(before, mine, items, 0.1)


def test_nobody_is_moved_by_the_others_and_nothing_stays_nothing():
    rng = np.random.default_rng(1)
    items = rng.normal(size=(700, 6)).astype(np.float32)
    lists = [rng.choice(700, 4, replace=False).tolist() for _ in range(600)] + [[]]
    start = rng.normal(size=(601, 6)).astype(np.float32)
    start[-1] = 0
    together = settled(start, histories(lists, 700), items, 0.1)
    alone = settled(start[590:591], histories(lists[590:591], 700), items, 0.1)
    np.testing.assert_allclose(together[590], alone[0], atol=1e-5)
    assert not together[-1].any()
