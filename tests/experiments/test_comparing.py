"""Halves of users, Holm, Welch, and tests made of values per user: known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.evaluation.ranking import Evaluation
from experiments import comparing, lines


def test_halves_share_nobody_and_hold_everyone_who_can_be_asked(planted):
    found = comparing.halves(planted)
    able = np.flatnonzero(planted.validation.per_user)
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), able)
    assert 0.35 < len(found.choosing) / len(able) < 0.65


def test_halves_go_by_ids_not_by_numbers(planted):
    from dataclasses import replace

    from elasticrec.data.ids import Ids

    def named(prefix):
        values = [f"{prefix}{n}" for n in range(planted.n_users)]
        return comparing.halves(replace(planted, user_ids=Ids.of(values))).choosing

    np.testing.assert_array_equal(named("a"), named("a"))
    assert not np.array_equal(named("a"), named("b"))


def test_few_users_of_a_half_are_spread_over_it(planted):
    everyone, few = comparing.halves(planted), comparing.halves(planted, most=10)
    assert [len(half) for half in few] == [10, 10]
    assert set(few.choosing) <= set(everyone.choosing)


def test_holm_as_worked_by_hand():
    assert comparing.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert comparing.holm([0.5, 0.9]) == [1.0, 1.0]
    assert comparing.holm([]) == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_p_and_keeps_the_order(p_values):
    found = np.array(comparing.holm(p_values))
    assert (found >= np.array(p_values)).all()
    assert (np.diff(found[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_welch_agrees_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    a, b = [0.1, 0.12, 0.11, 0.13], [0.15, 0.14, 0.18]
    assert comparing.welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
    assert comparing.welch([1.0, 1.0], [1.0, 1.0]) == 1.0
    with pytest.raises(ValueError, match="1 and 2 seeds, expected at least two"):
        comparing.welch([1.0], [1.0, 2.0])


def recorded(planted, method, values, seed=0, **more):
    per_user = {name: np.array(values, dtype=float) for name in comparing.TESTED}
    metrics = {name: float(np.mean(values)) for name in comparing.TESTED}
    found = Evaluation(metrics, np.arange(len(values)), per_user)
    fields = {
        "dataset": "goodbooks", "part": "validation", "method": method, "person": "history",
        "bytes_per_item": 11, "seed": seed, "config": {},
    }  # fmt: skip
    return comparing.record("trial", fields | more, found, split=planted)


def test_a_test_is_of_means_over_the_seeds_that_both_have(results, planted):
    recorded(planted, "a", [0.5, 0.7, 0.9])
    recorded(planted, "a", [0.7, 0.9, 0.9], seed=1)
    recorded(planted, "a", [9.0, 9.0, 9.0], seed=2)
    recorded(planted, "b", [0.5, 0.6, 0.7])
    recorded(planted, "b", [0.5, 0.6, 0.7], seed=1)
    assert comparing.compare("trial", ["a"]) == 1
    (test,) = lines.latest_tests("trial", method="a", against="b")
    assert test["seeds"] == [[0, 1], [0, 1]]
    assert test["metrics"]["recall@50 lead"] == pytest.approx(2.3 / 1.8 - 1)
    assert test["users"] == 3
    assert comparing.compare("trial", ["a"]) == 0  # it is there


def test_kinds_of_person_are_tested_apart_unless_experiments_are_compared(results, planted):
    recorded(planted, "a", [0.5, 0.7, 0.9])
    recorded(planted, "b", [0.5, 0.6, 0.7], person="vector")
    assert comparing.compare("trial", ["a"]) == 0
    assert comparing.compare("trial", ["a"], beside=("nothing",)) == 1
