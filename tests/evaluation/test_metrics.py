"""Metrics against answers worked out by hand, and the rank form against the list form."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import (
    NOT_LISTED,
    Metric,
    metrics_from_ranks,
    parse_metric,
    parse_metrics,
)
from tests.twins import METRICS, hit_at, map_at, mrr_at, ndcg_at, recall_at


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


def test_mrr_known_answers() -> None:
    assert mrr_at(3, ranked=[7, 3, 9], relevant={3, 9}) == 1 / 2
    assert mrr_at(1, ranked=[7, 3, 9], relevant={3, 9}) == 0.0


def test_map_known_answers() -> None:
    # Hits in places 1 and 3 of 3 relevant items: (1/1 + 2/3) / 3.
    assert map_at(4, ranked=[3, 7, 9, 8], relevant={3, 9, 5}) == pytest.approx(5 / 9)
    # A list of 2 can hold 2 of the 3.
    assert map_at(2, ranked=[3, 9, 7], relevant={3, 9, 5}) == 1.0
    assert map_at(3, ranked=[7, 8, 9], relevant={9}) == pytest.approx(1 / 3)


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
    "text",
    [
        *("recall", "recall@", "recall@0", "recall@-3", "recall@2.5", "precision@20", "@20", "²"),
        *("coverage@20", "recall@9999999999", f"recall@{'1' * 5_000}"),
    ],
)
def test_unknown_metrics_are_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(InputError, match="hit, mrr, map with a length: recall@20"):
        parse_metric(text)


def test_no_metric_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        parse_metrics([])
    with pytest.raises(InputError, match="metrics: 'recall@20', expected a list"):
        parse_metrics("recall@20")


def test_ranks_known_answers() -> None:
    # The first user's items stand first and third; the second's stands fifth, another nowhere.
    values = metrics_from_ranks(
        np.array([0, 2, 4, NOT_LISTED], dtype=np.int32),
        np.array([0, 2, 4]),
        ["recall@2", "recall@5", "ndcg@3", "hit@4", "mrr@5", "map@5"],
    )
    np.testing.assert_allclose(values["recall@2"], [0.5, 0])
    np.testing.assert_allclose(values["recall@5"], [1, 0.5])
    np.testing.assert_allclose(values["ndcg@3"], [1.5 / (1 + 1 / log2(3)), 0])
    np.testing.assert_allclose(values["hit@4"], [1, 0])
    np.testing.assert_allclose(values["mrr@5"], [1, 1 / 5])
    np.testing.assert_allclose(values["map@5"], [(1 + 2 / 3) / 2, 1 / 5 / 2])


def test_ranks_refuse_users_without_relevant_items() -> None:
    with pytest.raises(ValueError, match="leave such users out"):
        metrics_from_ranks(np.array([0]), np.array([0, 1, 1]), ["hit@1"])


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
