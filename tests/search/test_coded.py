"""The search over depths and neighbours, by the bytes of files."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.errors import InputError
from elasticrec.search.answers import NESTING, answer_budgets
from elasticrec.search.config import SearchConfig
from elasticrec.search.controls import CONTROLS
from elasticrec.search.evolution import evolve
from elasticrec.search.measuring import held_out_quality, validation_quality
from elasticrec.search.menu_rows import MenuRows
from elasticrec.search.mutation import MUTATIONS
from elasticrec.search.problem import Problem
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.space.composition import Composition
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.groups import even_sizes
from elasticrec.space.menu import default_menu

SMALL = SearchConfig(population=6, rounds=12, children=3)


def worth(depths, neighbours):
    """Decreasing returns of planes and neighbours, the first groups most."""
    share = 1 / np.arange(1, depths.shape[1] + 1)
    planes = np.log1p(depths.astype(float).sum(axis=2)) @ share
    return planes + 0.7 * np.sqrt(neighbours) @ share


def a_problem(budget, containing=None, vector=True):
    menu = default_menu(0.7 ** np.arange(4))
    accounting = FileAccounting(even_sizes(203, 5), 4, vector=vector)
    space = MenuRows(menu, accounting, Budget(budget), containing=containing)
    return Problem(space, worth, worth)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), budget=st.integers(2_900, 16_000))
def test_nothing_exceeds_the_budget_and_bytes_are_exact(seed, budget):
    problem, rng = a_problem(budget), np.random.default_rng(seed)
    space = problem.candidates
    found = [evolve(problem, SMALL, rng)]
    found += [control(problem, SMALL, rng) for control in CONTROLS.values()]
    for each in found:
        assert each.n_bytes == space.accounting.size(each.composition) <= budget
        for candidate in each.trace.candidates:
            assert space.n_bytes(candidate) <= budget


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), budget=st.integers(5_000, 14_000))
def test_whatever_must_be_contained_is(seed, budget):
    rng = np.random.default_rng(seed)
    floor = a_problem(4_000).candidates
    small = floor.compose(floor.random(rng))
    space = a_problem(budget, containing=small).candidates
    parent = space.random(rng)
    for _ in range(8):
        assert space.compose(parent).contains(small)
        assert space.n_bytes(parent) <= budget
        name = list(MUTATIONS)[int(rng.integers(3))]
        parent = MUTATIONS[name](space, parent, rng)
    for found in (evolve(a_problem(budget, containing=small), SMALL, rng),):
        assert found.composition.contains(small)


def test_the_search_beats_uniform_and_greedy():
    problem = a_problem(6_000)
    best = evolve(problem, SearchConfig(population=20, rounds=300, children=5), rng_of(1))
    greedy = CONTROLS["greedy"](problem, SMALL, rng_of(1))
    uniform = CONTROLS["uniform"](problem, SMALL, rng_of(1))
    assert best.estimate >= greedy.estimate
    assert best.estimate > uniform.estimate


def rng_of(seed):
    return np.random.default_rng(seed)


def test_budgets_nest_quality_never_falls_and_controls_stand_beside(coded_folder):
    searcher = Searcher(coded_folder)
    budgets = [Budget(n) for n in (3_500, 4_500, 6_000, 9_000, 14_000, 20_000, 40_000)]
    answers = answer_budgets(searcher, budgets, SMALL)
    assert searcher.accounting_name == "file"
    estimates = [answer.searched.estimate for answer in answers]
    assert estimates == sorted(estimates)
    for answer in answers:
        assert [each.method for each in answer.controls] == ["uniform", "best-of-random", "greedy"]
        for found in (answer.searched, *answer.controls):
            size = searcher.accounting.size(found.composition)
            assert found.n_bytes == size <= answer.budget.n_bytes
    nested = [b.searched.composition.contains(a.searched.composition) for a, b in pairwise(answers)]
    assert sum(nested) >= len(nested) - 1
    whole = answers[-1]
    assert "everything is kept" in whole.controls[0].note
    assert whole.searched.estimate >= whole.controls[0].estimate


def test_containing_the_smaller_one_is_given_up_where_it_costs_too_much(coded_folder):
    searcher = Searcher(coded_folder)
    estimate = searcher.estimator.predict

    class Contrary:
        """Small budgets want neighbours, larger ones none: a nested step would be worthless."""

        features, about = searcher.estimator.features, searcher.estimator.about

        @staticmethod
        def predict(depths, neighbours):
            size = searcher.accounting.sizes(depths, neighbours)
            kept = neighbours.astype(float).sum(axis=1)
            return np.where(size < 4_500, 1 + kept, 100 - kept) + 0 * estimate(depths, neighbours)

    searcher.estimator = Contrary()
    small, large = answer_budgets(searcher, [Budget(4_400), Budget(9_000)], SMALL, controls=())
    assert small.searched.composition.neighbours.any()
    assert large.searched.estimate > (1 + NESTING) * small.searched.estimate
    assert not large.searched.composition.contains(small.searched.composition)


@pytest.mark.parametrize(("loss", "spends"), [(0.002, True), (0.05, False)])
def test_a_budget_is_spent_unless_that_seems_clearly_worse(coded_folder, loss, spends):
    searcher = Searcher(coded_folder)

    class Sated:
        """Beyond 4,500 bytes everything seems a little worse."""

        features, about = searcher.estimator.features, searcher.estimator.about

        def predict(self, depths, neighbours):
            pairs = zip(depths, neighbours, strict=True)
            sizes = [searcher.accounting.size(Composition(d, n)) for d, n in pairs]
            return np.where(np.array(sizes) < 4_500, 1.0, 1.0 - loss)

    searcher.estimator = Sated()
    small, large = answer_budgets(searcher, [Budget(4_400), Budget(9_000)], SMALL, controls=())
    assert large.searched.estimate >= small.searched.estimate
    assert (large.searched.n_bytes > 4_500) == spends
    assert large.searched.composition.contains(small.searched.composition)


def test_a_measured_search_believes_no_estimate(coded_folder):
    searcher = Searcher(coded_folder)
    measure = validation_quality(searcher, many=True, device="cpu")

    class Liar:
        """Praises what is worse."""

        features, about = searcher.estimator.features, searcher.estimator.about

        @staticmethod
        def predict(depths, neighbours):
            return 1 - measure(depths, neighbours)

    searcher.estimator = Liar()
    budgets = [Budget(4_400), Budget(9_000)]
    found = {
        measured: answer_budgets(
            searcher, budgets, SMALL, controls=(), evaluate=measure, measured=measured
        )
        for measured in (False, True)
    }
    for misled, answer in zip(found[False], found[True], strict=True):
        best, worse = answer.searched, misled.searched
        quality = measure(best.composition.depths[None], best.composition.neighbours[None])[0]
        assert best.measured == pytest.approx(quality)
        assert best.estimate == pytest.approx(1 - quality)  # what the estimator says all the same
        assert quality > measure(worse.composition.depths[None], worse.composition.neighbours[None])
        assert best.n_bytes <= answer.budget.n_bytes
    with pytest.raises(ValueError, match="without an evaluator"):
        answer_budgets(searcher, budgets, SMALL, measured=True)


def test_a_measured_search_reports_what_was_measured_even_where_that_falls(coded_folder):
    searcher = Searcher(coded_folder)

    def sated(depths, neighbours):
        return np.where(searcher.accounting.sizes(depths, neighbours) < 4_500, 1.0, 0.99)

    budgets = [Budget(4_400), Budget(9_000)]
    small, large = (
        answer.searched
        for answer in answer_budgets(
            searcher, budgets, SMALL, controls=(), evaluate=sated, measured=True
        )
    )
    assert large.composition.contains(small.composition)  # a little less is chance
    assert (small.measured, large.measured) == (1.0, 0.99)


def test_refining_and_reporting_measure_coded_compositions(coded_folder):
    searcher = Searcher(coded_folder)
    rows = np.array([[0, 5, 9, 3, 1], [20, 20, 20, 20, 20]])
    depths, neighbours = searcher.menu.depths[rows], searcher.menu.neighbours[rows]
    plain, counted = (
        validation_quality(searcher, many=many, device="cpu")(depths, neighbours)
        for many in (False, True)
    )
    assert plain.tolist() == counted.tolist()
    on_test = held_out_quality(searcher, "test", device="cpu")(depths, neighbours)
    assert (on_test > 0).all()
    assert not np.allclose(on_test, plain)


def test_a_searcher_counts_as_its_estimator_was_made(coded_folder):
    with pytest.raises(InputError, match="made for accounting file, not paper"):
        Searcher(coded_folder, accounting="paper")
    with pytest.raises(InputError, match="expected one of paper, file"):
        Searcher(coded_folder, accounting="bits")
    least = Searcher(coded_folder).candidates(Budget(10_000)).ladder.smallest_bytes
    with pytest.raises(InputError, match=f"smallest possible is .* \\({least} bytes\\)"):
        Searcher(coded_folder).candidates(Budget(least - 1))
