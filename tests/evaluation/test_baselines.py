"""Baselines: ItemKNN as its definition says, popularity as counted, on the same users."""

from math import sqrt

import numpy as np
import pytest

from elasticrec.evaluation.baselines import evaluate_baselines
from elasticrec.evaluation.ranking import queries_of
from tests.twins import recall_at

pytest.importorskip("torch")


def itemknn_reference(train, history):
    """(V,) the score of each item for one history, pair by pair; all items are near."""
    takers = [set(train.users[train.items == item].tolist()) for item in range(train.n_items)]
    busy = train.per_user
    scores = np.zeros(train.n_items)
    for item, voter in ((i, v) for i in range(train.n_items) for v in history if v != i):
        shared = sum(1 / sqrt(busy[user]) for user in takers[item] & takers[voter])
        if shared:
            scores[item] += shared / sqrt(len(takers[item]) * len(takers[voter]))
    return scores


def test_itemknn_is_as_defined(two_tastes):
    asked = queries_of(two_tastes, "test")
    found = evaluate_baselines(asked, ["recall@3", "recall@30"])["itemknn"]
    for place in (0, 7, 23):
        scores = itemknn_reference(asked.train, asked.train.of(asked.users[place]).tolist())
        scores[asked.seen.of(place)] = -1
        relevant = asked.relevant.of(place).tolist()
        for k in (3, 30):
            ranked = np.lexsort((np.arange(len(scores)), -scores.round(5)))[:k].tolist()
            expected = recall_at(k, ranked, relevant)
            assert found.per_user[f"recall@{k}"][place] == pytest.approx(expected)


def test_popularity_lists_what_most_took(planted):
    asked = queries_of(planted, "test")
    found = evaluate_baselines(asked, ["recall@5", "coverage@5"])
    order = np.lexsort((np.arange(planted.n_items), -planted.train.per_item))
    expected = []
    for place in range(len(asked.users)):
        seen = set(asked.seen.of(place).tolist())
        ranked = [item for item in order.tolist() if item not in seen]
        expected.append(recall_at(5, ranked, asked.relevant.of(place).tolist()))
    assert found["popularity"].metrics["recall@5"] == pytest.approx(np.mean(expected))
    assert found["itemknn"].metrics["recall@5"] > found["popularity"].metrics["recall@5"]
    assert found["itemknn"].metrics["coverage@5"] > found["popularity"].metrics["coverage@5"]
