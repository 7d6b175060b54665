"""Metrics of lists against answers worked out by hand; the fast twins are in `test_ranking`."""

from __future__ import annotations

from math import log2, sqrt

import numpy as np
import pytest

from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.metrics import metrics_of_lists
from tests.twins import coverage_of, diversity_of, gini_of, novelty_of

# Item 0 was taken by all four users, 1 by the first two, 2 by the last two, 3 by nobody.
TRAIN = Pairs.from_arrays(
    np.array([0, 1, 2, 3, 0, 1, 2, 3]),
    np.array([0, 0, 0, 0, 1, 1, 2, 2]),
    n_users=4,
    n_items=4,
)


def test_coverage_is_the_share_of_items_listed_for_anyone() -> None:
    assert coverage_of([[0, 1], [1], []], TRAIN) == 0.5
    assert coverage_of([[]], TRAIN) == 0.0


def test_gini_is_0_for_equal_counts_and_high_for_one_item() -> None:
    assert gini_of([[0, 1], [2, 3]], TRAIN) == 0.0
    assert gini_of([[0], [0], [0]], TRAIN) == pytest.approx(3 / 4)  # 1 - 1 / items
    assert gini_of([[0, 1], [0, 1], [0, 1]], TRAIN) == pytest.approx(1 / 2)
    assert gini_of([[]], TRAIN) == 0.0


def test_novelty_is_bits() -> None:
    assert novelty_of([0], TRAIN) == 0.0  # everyone has it
    assert novelty_of([1, 2], TRAIN) == 1.0  # half of the users
    assert novelty_of([3], TRAIN) == log2(4)  # as if one user had taken it
    assert novelty_of([0, 3], TRAIN) == 1.0
    assert novelty_of([], TRAIN) == 0.0


def test_diversity_is_one_minus_the_mean_cosine() -> None:
    assert diversity_of([1, 2], TRAIN) == 1.0  # nobody took both
    assert diversity_of([0, 1], TRAIN) == pytest.approx(1 - 2 / sqrt(4 * 2))
    assert diversity_of([0, 1, 3], TRAIN) == pytest.approx(1 - (2 / sqrt(8)) / 3)
    assert diversity_of([0], TRAIN) == 0.0


def test_the_fast_twin_gives_the_same_answers() -> None:
    lists = np.array([[0, 1, 3], [2, -1, -1], [-1, -1, -1]])
    together, per_user = metrics_of_lists(
        lists, TRAIN, ["coverage@1", "coverage@3", "gini@2", "novelty@2", "diversity@3"]
    )
    assert together["coverage@1"] == 0.5
    assert together["coverage@3"] == 1.0
    assert together["gini@2"] == pytest.approx(gini_of([[0, 1], [2], []], TRAIN))
    np.testing.assert_allclose(per_user["novelty@2"], [0.5, 1.0, 0.0])
    np.testing.assert_allclose(per_user["diversity@3"], [1 - (2 / sqrt(8)) / 3, 0.0, 0.0])
