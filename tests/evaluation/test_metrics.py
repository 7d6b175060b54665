"""Metrics against answers worked out by hand, and the rank form against the list form."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import (
    METRICS,
    NOT_LISTED,
    Metric,
    hit_at,
    metrics_from_ranks,
    ndcg_at,
    parse_metric,
    parse_metrics,
    recall_at,
)


def test_recall_divides_by_all_relevant_items() -> None:
    assert recall_at(2, ranked=[7, 3, 9], relevant={3, 9}) == 0.5
    assert recall_at(3, ranked=[7, 3, 9], relevant={3, 9}) == 1.0
    assert recall_at(1, ranked=[3, 9, 7], relevant={3, 9, 1, 2}) == 0.25  # not 1 / min(k, 4)
    assert recall_at(5, ranked=[3], relevant={9}) == 0.0


def test_ndcg_known_answers() -> None:
    assert ndcg_at(2, ranked=[3, 9, 7], relevant={3, 9}) == 1.0
    # One hit in second place; two relevant items could have filled both places.
    assert ndcg_at(2, ranked=[7, 3, 9], relevant={3, 9}) == pytest.approx(
        (1 / log2(3)) / (1 + 1 / log2(3))
    )
    # Second and third place: 0.63093 + 0.5 of 1.63093.
    assert ndcg_at(3, ranked=[7, 3, 9], relevant={3, 9}) == pytest.approx(0.693426, abs=1e-6)
    # The ideal list has min(k, relevant) hits, not more places than are shown.
    assert ndcg_at(1, ranked=[3, 7], relevant={3, 9, 4}) == 1.0


def test_hit_known_answers() -> None:
    assert hit_at(1, ranked=[7, 3], relevant={3}) == 0.0
    assert hit_at(2, ranked=[7, 3], relevant={3, 9}) == 1.0


@pytest.mark.parametrize("measure", METRICS.values())
def test_without_relevant_items_nothing_is_defined(measure) -> None:
    with pytest.raises(ValueError, match="no relevant item"):
        measure(3, [1, 2], [])


def test_parse() -> None:
    assert parse_metric("recall@50") == Metric("recall", 50)
    assert parse_metric(" NDCG@7 ") == Metric("ndcg", 7)
    assert str(Metric("hit", 3)) == "hit@3"
    assert parse_metrics(["hit@3", "recall@1", "hit@3"]) == (Metric("hit", 3), Metric("recall", 1))


@pytest.mark.parametrize(
    "text", ["recall", "recall@", "recall@0", "recall@-3", "recall@2.5", "precision@20", "@20", "²"]
)
def test_unknown_metrics_are_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(InputError, match="expected recall, ndcg, hit with a length: recall@20"):
        parse_metric(text)


def test_no_metric_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        parse_metrics([])


def test_ranks_known_answers() -> None:
    # The first user's items stand first and third; the second's stands fifth, another nowhere.
    values = metrics_from_ranks(
        np.array([0, 2, 4, NOT_LISTED], dtype=np.int32),
        np.array([0, 2, 4]),
        ["recall@2", "recall@5", "ndcg@3", "hit@4"],
    )
    np.testing.assert_allclose(values["recall@2"], [0.5, 0])
    np.testing.assert_allclose(values["recall@5"], [1, 0.5])
    np.testing.assert_allclose(values["ndcg@3"], [1.5 / (1 + 1 / log2(3)), 0])
    np.testing.assert_allclose(values["hit@4"], [1, 0])


def test_ranks_of_the_top_alone_are_enough() -> None:
    full = metrics_from_ranks(
        np.array([0, 90, 70, 3, 95]), np.array([0, 2, 3, 5]), ["recall@5", "ndcg@5", "hit@5"]
    )
    top = metrics_from_ranks(
        np.array([0, 3]),
        np.array([0, 1, 1, 2]),
        ["recall@5", "ndcg@5", "hit@5"],
        n_relevant=np.array([2, 1, 2]),
    )
    for name in full:
        np.testing.assert_array_equal(full[name], top[name])


def test_ranks_refuse_users_without_relevant_items() -> None:
    with pytest.raises(ValueError, match="leave such users out"):
        metrics_from_ranks(np.array([0]), np.array([0, 1, 1]), ["hit@1"])
    with pytest.raises(ValueError, match="fewer than she has ranks"):
        metrics_from_ranks(np.array([0, 1]), np.array([0, 2]), ["hit@1"], n_relevant=np.array([1]))


@st.composite
def ranked_and_relevant(draw) -> tuple[list[int], list[set[int]]]:
    n_items = draw(st.integers(1, 12))
    ranked = draw(st.permutations(range(n_items)))
    users = draw(st.lists(st.sets(st.integers(0, n_items - 1), min_size=1), min_size=1, max_size=5))
    return ranked, users


@settings(deadline=None, max_examples=80)
@given(ranked_and_relevant(), st.integers(1, 15))
def test_rank_form_equals_list_form(world, k: int) -> None:
    ranked, users = world
    ranks = np.array([ranked.index(item) for items in users for item in sorted(items)])
    indptr = np.concatenate(([0], np.cumsum([len(items) for items in users])))
    values = metrics_from_ranks(ranks, indptr, [f"{name}@{k}" for name in METRICS])
    for name, measure in METRICS.items():
        expected = [measure(k, ranked, items) for items in users]
        np.testing.assert_allclose(values[f"{name}@{k}"], expected, rtol=1e-12)


def test_many_evaluations_at_once_equal_one_by_one() -> None:
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 30, size=(3, 4, 11))
    indptr = np.array([0, 1, 5, 7, 11])
    names = ["recall@5", "ndcg@10", "hit@3"]
    together = metrics_from_ranks(ranks, indptr, names)
    for a, b in np.ndindex(3, 4):
        alone = metrics_from_ranks(ranks[a, b], indptr, names)
        for name in names:
            np.testing.assert_array_equal(together[name][a, b], alone[name])
