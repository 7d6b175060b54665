"""The two other NDCG forms, by hand and against their readable twins."""

from math import log2

import numpy as np
import pytest

from elasticrec.evaluation.metrics import NOT_LISTED, ndcg_at
from experiments.ndcg_forms import dcg_at, forms_from_ranks, forms_of, ndcg_of_hits_at


def test_by_hand():
    ranked, relevant = [7, 3, 9, 1], {3, 1, 5}
    gain = 1 / log2(3) + 1 / log2(5)
    assert dcg_at(4, ranked, relevant) == pytest.approx(gain)
    assert ndcg_of_hits_at(4, ranked, relevant) == pytest.approx(gain / (1 + 1 / log2(3)))
    assert ndcg_of_hits_at(1, ranked, relevant) == 0.0
    assert ndcg_of_hits_at(4, [3, 1], relevant) == 1.0
    assert ndcg_at(4, [3, 1], relevant) < 1.0


def test_from_ranks_as_from_lists(rng):
    lists = [rng.permutation(200) for _ in range(20)]
    relevant = [rng.choice(200, size=n, replace=False) for n in rng.integers(1, 90, 20)]
    ranks, indptr = [], [0]
    for ranked, wanted in zip(lists, relevant, strict=True):
        places = np.argsort(ranked)[np.sort(wanted)]
        ranks.append(np.where(places < 100, places, NOT_LISTED))
        indptr.append(indptr[-1] + len(wanted))
    found = forms_from_ranks(np.concatenate(ranks), np.array(indptr))
    for k in (50, 100):
        pairs = list(zip(lists, relevant, strict=True))
        assert found[f"dcg@{k}"] == pytest.approx([dcg_at(k, *pair) for pair in pairs])
        hits = [ndcg_of_hits_at(k, *pair) for pair in pairs]
        assert found[f"ndcg-of-hits@{k}"] == pytest.approx(hits)


def test_of_a_table_whose_lists_are_known(two_tastes):
    from elasticrec.training.table import BlockTable

    items = np.zeros((two_tastes.n_items, 1, 8), dtype=np.float32)
    items[: two_tastes.n_items // 2, 0, 0] = items[two_tastes.n_items // 2 :, 0, 1] = 1
    users = np.zeros((two_tastes.n_users, 8), dtype=np.float32)
    users[: two_tastes.n_users // 2, 0] = users[two_tastes.n_users // 2 :, 1] = 1
    found = forms_of(BlockTable(items, users, "mf"), two_tastes, "cpu")
    assert found["ndcg-of-hits@50"] == pytest.approx(1.0)  # nothing else is left of her half
    assert found["dcg@50"] > 1.0
