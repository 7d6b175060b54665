"""Rows that fall: no group gets more than a more popular one, and nothing exceeds the budget."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.search.config import SearchConfig
from elasticrec.search.controls import greedy
from elasticrec.search.evolution import evolve
from elasticrec.search.menu_rows import MenuRows
from elasticrec.search.mutation import MUTATIONS
from elasticrec.search.problem import Problem
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu


def falling_rows(blocks, sizes, n=4):
    accounting = PaperAccounting(np.array(sizes), n, 8)
    menu = Menu.f32_prefixes(np.arange(n))
    budget = Budget(accounting.fixed_bytes + blocks * 32 * max(sizes))
    return MenuRows(menu, accounting, budget, falling=True)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**31), blocks=st.integers(6, 22), name=st.sampled_from([*MUTATIONS]))
def test_equal_groups_never_get_more_than_more_popular_ones(seed, blocks, name):
    space, rng = falling_rows(blocks, (10,) * 6), np.random.default_rng(seed)
    candidate = space.random(rng)
    for _ in range(5):
        assert (np.diff(space.ladder.costs[0, candidate]) <= 0).all()
        assert space.n_bytes(candidate) <= space.budget.n_bytes
        candidate = MUTATIONS[name](space, candidate, rng)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31), blocks=st.integers(6, 22))
def test_groups_that_differ_by_an_item_stay_within_the_budget(seed, blocks):
    space, rng = falling_rows(blocks, (11, 11, 10, 10, 10, 10)), np.random.default_rng(seed)
    for _ in range(10):
        assert space.n_bytes(space.random(rng)) <= space.budget.n_bytes


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31), blocks=st.integers(6, 22))
def test_a_climb_stays_among_rows_that_fall(seed, blocks):
    worth = np.random.default_rng(seed).random(6)

    def estimate(depths, neighbours):
        return (depths > 0).sum(axis=2) @ worth

    found = greedy(Problem(falling_rows(blocks, (10,) * 6), estimate), SearchConfig(), None)
    assert len(found.trace.candidates) > 1 or blocks == 6
    for rows in found.trace.candidates:
        assert (np.diff(rows) <= 0).all()


def test_a_search_does_not_believe_that_a_rare_group_deserves_most():
    def by_chance(depths, neighbours):  # one rare group looks best by luck
        return (depths > 0).sum(axis=2) @ np.array([1.0, 0.9, 0.8, 0.7, 0.6, 5.0])

    space = falling_rows(12, (10,) * 6)
    found = evolve(Problem(space, by_chance), SearchConfig(), np.random.default_rng(0))
    kept = found.composition.kept.sum(axis=1)
    assert (np.diff(kept) <= 0).all()
    assert kept.sum() == 12
