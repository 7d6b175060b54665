"""Ledger 12: which random group gets more blocks cannot matter in expectation."""

import numpy as np
import pytest

from elasticrec.rule.free_blocks import popularity_groups, random_groups

G, N, D = 4, 4, 2


@pytest.fixture(scope="module")
def vectors(planted):
    """User and item vectors of the planted world: the singular vectors of its train matrix."""
    seen = planted.train.csr().toarray()
    U, S, Vt = np.linalg.svd(seen, full_matrices=False)
    return U[:, : N * D] * S[: N * D], Vt[: N * D].T


def recall(planted, vectors, groups, counts, k=20):
    """Mean recall@k where group g keeps its first `counts[g]` blocks."""
    users, items = vectors
    kept = np.arange(N * D) < counts[groups][:, None] * D
    scores = users @ (items * kept).T
    scores[planted.train.users, planted.train.items] = -np.inf
    listed = np.argsort(-scores, axis=1)[:, :k]
    hits = [
        len(set(listed[u]) & set(planted.test.of(u))) / len(planted.test.of(u))
        for u in range(planted.n_users)
        if len(planted.test.of(u))
    ]
    return float(np.mean(hits))


def test_random_groups_are_exchangeable_and_popular_ones_are_not(planted, vectors):
    popularity = planted.train.per_item
    front, back = np.array([4, 3, 1, 1]), np.array([1, 1, 3, 4])
    differences = []
    for seed in range(60):
        groups = random_groups(len(popularity), G, np.random.default_rng(seed))
        differences.append(
            recall(planted, vectors, groups, front) - recall(planted, vectors, groups, back)
        )
    error = np.std(differences) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) < 3 * error
    by_popularity = popularity_groups(popularity, G)
    gain = recall(planted, vectors, by_popularity, front) - recall(
        planted, vectors, by_popularity, back
    )
    assert gain > 10 * error
