import numpy as np
import pytest

from elasticrec.rule.config import CHANCE, SearchConfig
from elasticrec.rule.controls import CONTROLS, best_of_random, greedy, greedy_measured, uniform
from elasticrec.rule.free_blocks import FreeBlocks
from elasticrec.search.menu_rows import MenuRows
from elasticrec.rule.problem import Problem
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu

from .conftest import make_problem, worth


def rng(seed=0):
    return np.random.default_rng(seed)


def test_uniform_gives_all_groups_one_row_and_the_rest_to_the_first(kind):
    kept = uniform(make_problem(kind, 5), SearchConfig(), rng()).composition.kept
    first, second = (0, 1) if kind == "free" else (0, 2)  # the orders of blocks differ
    assert kept[:, first].tolist() == [True, True, True]
    assert kept[:, second].tolist() == [True, True, False]
    assert kept.sum() == 5


def test_uniform_of_the_papers_setting_spends_all_its_blocks():
    from elasticrec.space.groups import even_sizes

    accounting = PaperAccounting(even_sizes(91_599, 20), 16, 8)
    for megabytes, blocks in ((5, 34), (10, 68), (25, 170)):
        space = MenuRows(Menu.f32_prefixes(np.arange(16)), accounting, Budget.megabytes(megabytes))
        problem = Problem(space, lambda d, n: d.sum(axis=(1, 2)).astype(float))
        kept = uniform(problem, SearchConfig(), rng()).composition.kept.sum(axis=1)
        assert kept.sum() == blocks
        assert kept.tolist() == [blocks // 20 + (g < blocks % 20) for g in range(20)]


def test_uniform_lets_the_estimate_choose_between_rows_that_do_not_contain_each_other():
    menu = Menu(np.array([[32, 0], [0, 32], [32, 32]]), np.zeros(3, dtype=int))
    space = MenuRows(menu, PaperAccounting(np.array([10, 10]), 2, 8), Budget(64 + 2 * 320))
    problem = Problem(space, lambda d, n: (d[:, :, 1] > 0).sum(axis=1).astype(float))
    found = uniform(problem, SearchConfig(), rng())
    assert found.composition.kept.tolist() == [[False, True], [False, True]]
    assert len(found.trace.estimates) == 2


def test_best_of_random_looks_at_as_many_as_the_search(kind):
    config = SearchConfig(population=7, rounds=5, children=2)
    found = best_of_random(make_problem(kind), config, rng())
    assert len(found.trace.estimates) == config.n_candidates == 17
    assert found.estimate == found.trace.estimates.max()
    assert set(found.trace.made_by) == {"random"}


def test_greedy_takes_the_most_gain_per_byte():
    sizes = np.array([10, 40, 1])
    space = MenuRows(
        Menu.f32_prefixes(np.arange(2)), PaperAccounting(sizes, 2, 8), Budget(64 + 32 * 101)
    )
    gains = {(0, 0): 0.0, (1, 0): 3.0, (0, 1): 8.0, (1, 1): 9.0}

    def quality(depths, neighbours):
        return np.array([gains[tuple((kept.sum(axis=1) - 1)[:2].tolist())] for kept in depths > 0])

    path = greedy(Problem(space, quality), SearchConfig(), rng()).trace
    assert path.candidates.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]  # 3/320 before 8/1280
    assert path.parents.tolist() == [-1, 0, 1]


def test_greedy_returns_the_best_on_its_way():
    space = make_problem("menu", 9).candidates
    space.budget = Budget(space.ladder.full_bytes - 1)
    space.allowance = space.ladder.allowance(space.budget)
    problem = Problem(space, lambda d, n: -np.abs((d > 0).sum(axis=(1, 2)) - 5.0))
    assert greedy(problem, SearchConfig(), rng()).composition.kept.sum() == 5


def test_greedy_of_free_blocks_starts_with_the_best_block_for_all():
    path = greedy(make_problem("free", 5), SearchConfig(), rng()).trace
    assert path.candidates[0].tolist() == [[True, False, False]] * 3
    assert path.candidates[-1].sum() == 5


def test_greedy_measured_climbs_by_the_evaluator_alone(kind):
    calls = []

    def measured(depths, neighbours):
        calls.append(len(depths))
        return worth(depths, neighbours)

    problem = Problem(make_problem(kind).candidates, lambda d, n: np.zeros(len(d)), measured)
    found = greedy_measured(problem, SearchConfig(), rng())
    by_estimate = greedy(Problem(problem.candidates, worth), SearchConfig(), rng())
    assert found.composition == by_estimate.composition
    assert found.measured == pytest.approx(by_estimate.estimate)
    assert found.estimate == 0
    assert sum(calls) > 0


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_is_within_budget_and_knows_what_it_costs(kind, name):
    for blocks in (3, 5, 8):
        problem = make_problem(kind, blocks, sizes=(10, 9, 11))
        found = CONTROLS[name](problem, SearchConfig(), rng())
        assert found.method == name
        assert found.n_bytes <= problem.candidates.budget.n_bytes
        accounting = PaperAccounting(np.array([10, 9, 11]), 3, 8)
        assert found.n_bytes == accounting.size(found.composition)
        assert found.seconds > 0


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_keeps_everything_where_it_fits(kind, name):
    found = CONTROLS[name](make_problem(kind, 50), SearchConfig(), rng())
    assert found.composition.kept.all()
    assert "everything is kept" in found.note


def test_measuring_afterwards_keeps_what_was_measured():
    found = uniform(make_problem("menu"), SearchConfig(), rng())
    measured = found.with_measure(worth)
    assert measured.measured == found.estimate
    assert measured.with_measure(lambda d, n: np.zeros(1)) is measured


def test_greedy_spends_evenly_what_the_estimate_does_not_want():
    menu, sizes = Menu.f32_prefixes(np.arange(4)), np.array([10, 10, 10, 10])
    space = MenuRows(menu, PaperAccounting(sizes, 4, 8), Budget(128 + 320 * 12), falling=True)
    problem = Problem(space, lambda d, n: np.minimum((d[:, 0] > 0).sum(axis=1), 3).astype(float))
    found = greedy(problem, SearchConfig(), rng())
    assert found.composition.kept.sum(axis=1).tolist() == [3, 3, 3, 3]
    assert found.trace.made_by[-1] == "evenly"


def test_greedy_leaves_bytes_unspent_only_where_more_seems_clearly_worse():
    menu, accounting = Menu.f32_prefixes(np.arange(4)), PaperAccounting(np.array([10, 10]), 4, 8)
    space = MenuRows(menu, accounting, Budget(128 + 320 * 6))
    loss = {0.4 * CHANCE: 6, 5 * CHANCE: 3}
    for share, kept in loss.items():
        problem = Problem(
            space, lambda d, n, s=share: 1.0 - s * np.maximum((d > 0).sum(axis=(1, 2)) - 3.0, 0) / 3
        )
        assert greedy(problem, SearchConfig(), rng()).composition.kept.sum() == kept


def test_a_step_beyond_a_more_popular_group_takes_it_along():
    menu = Menu.f32_prefixes(np.arange(3))
    accounting = PaperAccounting(np.array([10, 10, 10]), 3, 8)
    space = MenuRows(menu, accounting, Budget(96 + 320 * 8), falling=True)
    children, prices = space.steps(np.array([1, 0, 0]))
    assert sorted(children.tolist()) == [[1, 1, 0], [1, 1, 1], [2, 0, 0]]
    assert sorted(prices.tolist()) == [320, 320, 640]


@pytest.mark.parametrize("printed", [True, False])
def test_free_blocks_are_spent_evenly_but_not_as_printed(printed):
    accounting = PaperAccounting(np.array([10, 10, 10]), 4, 8)
    space = FreeBlocks(np.arange(4), accounting, Budget(128 + 320 * 9), printed=printed)
    problem = Problem(space, lambda d, n: np.minimum((d[:, 0] > 0).sum(axis=1), 2).astype(float))
    kept = greedy(problem, SearchConfig(), rng()).composition.kept.sum(axis=1)
    assert kept.sum() == 9
    assert (kept.tolist() == [3, 3, 3]) != printed
