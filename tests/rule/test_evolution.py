import json
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.rule.controls import greedy, uniform
from elasticrec.rule.evolution import SearchConfig, evolve
from elasticrec.rule.mutation import MUTATIONS
from elasticrec.rule.problem import Problem

from .conftest import all_candidates, make_problem, worth


def rng(seed=0):
    return np.random.default_rng(seed)


def test_finds_the_best_of_all_candidates(kind):
    problem = make_problem(kind)
    every = np.array(all_candidates(problem.candidates))
    found = evolve(problem, SearchConfig(rounds=300, starts=()), rng())
    assert found.estimate == pytest.approx(problem.estimates(every).max())
    assert found.n_bytes <= problem.candidates.budget.n_bytes
    assert found.method == "searched"


def test_the_same_seed_replays_the_whole_trace(kind):
    problem = make_problem(kind)
    one, same, other = (evolve(problem, SearchConfig(), rng(s)).trace for s in (1, 1, 2))
    assert np.array_equal(one.candidates, same.candidates)
    assert np.array_equal(one.parents, same.parents)
    assert one.made_by == same.made_by
    assert np.array_equal(one.estimates, same.estimates)
    assert not np.array_equal(one.candidates, other.candidates)


def test_the_trace_tells_parent_mutation_and_estimate(kind):
    problem, config = make_problem(kind), SearchConfig(population=6, rounds=30)
    trace = evolve(problem, config, rng()).trace
    assert len(trace.candidates) == config.n_candidates == 36
    assert trace.made_by[:6] == ("uniform", "greedy", "random", "random", "random", "random")
    assert set(trace.made_by[6:]) <= set(MUTATIONS)
    assert (trace.parents[:6] == -1).all()
    assert all(0 <= parent < number for number, parent in enumerate(trace.parents[6:], start=6))
    assert np.array_equal(trace.estimates, problem.estimates(trace.candidates))


def test_seeds_are_estimated_in_one_call_and_then_one_child_per_round():
    asked = []

    def estimate(depths, neighbours):
        asked.append(len(depths))
        return worth(depths, neighbours)

    problem = Problem(make_problem("menu").candidates, estimate)
    evolve(problem, SearchConfig(population=9, rounds=4, starts=()), rng())
    assert asked == [9, 1, 1, 1, 1]
    asked.clear()
    evolve(problem, SearchConfig(population=9, rounds=2, children=5, starts=()), rng())
    assert asked == [9, 5, 5]


def test_a_child_is_estimated_and_not_the_model_before_it():
    """Ledger 4: `estimate(model.EE)` in Alg. 2 means the child."""
    problem = make_problem("free")
    trace = evolve(problem, SearchConfig.printed(population=3, rounds=20), rng()).trace
    for number in range(3, 23):
        own = problem.estimates(trace.candidates[[number]])[0]
        assert trace.estimates[number] == own


def test_the_worst_leaves_and_the_best_of_a_tournament_breeds():
    problem = make_problem("free")
    config = SearchConfig(population=4, tournament=500, rounds=40, starts=())
    trace = evolve(problem, config, rng()).trace
    alive = list(range(4))
    for number in range(4, 44):
        assert trace.parents[number] in alive
        best = max(alive, key=trace.estimates.__getitem__)  # 500 draws of 4 meet every one
        assert trace.estimates[trace.parents[number]] == trace.estimates[best]
        if not any(np.array_equal(trace.candidates[number], trace.candidates[n]) for n in alive):
            alive.append(number)
            alive.remove(min(alive, key=trace.estimates.__getitem__))


def test_the_best_ever_seen_is_returned_though_later_ones_are_worse():
    problem = make_problem("free")
    found = evolve(problem, SearchConfig(rounds=5), rng())
    assert found.estimate == found.trace.estimates.max()


def test_ours_is_never_below_the_controls_it_starts_from(kind):
    for blocks in range(3, 9):
        problem, config = make_problem(kind, blocks), SearchConfig(population=2, rounds=1)
        found = evolve(problem, config, rng())
        for control in (uniform, greedy):
            assert found.estimate >= control(problem, config, rng()).estimate


def test_a_start_stays_unless_something_leads_it_by_the_margin(kind):
    problem = make_problem(kind, 6)
    start = uniform(problem, SearchConfig(), rng()).estimate
    long = SearchConfig(rounds=200, children=5, starts=("uniform",))
    best = evolve(problem, long, rng()).estimate
    assert best > start
    for margin, expected in ((best / start - 1.001, best), (best / start - 0.999, start)):
        assert evolve(problem, replace(long, margin=margin), rng()).estimate == expected


def test_starts_take_part_as_they_are(kind):
    problem = make_problem(kind, 7)
    trace = evolve(problem, SearchConfig(rounds=1), rng()).trace
    for number, control in enumerate((uniform, greedy)):
        known = problem.candidates.of(control(problem, SearchConfig(), rng()).composition)
        assert trace.made_by[number] == control.__name__
        assert (trace.candidates[number] == known).all()


def test_printed_setting_starts_at_random_leaves_bytes_and_only_permutes():
    problem = make_problem("free", printed=True, budget_blocks=6)
    config = SearchConfig.printed(population=8, rounds=60)
    trace = evolve(problem, config, rng()).trace
    assert set(trace.made_by[:8]) == {"random"}
    assert set(trace.made_by[8:]) == {"swap", "reselect"}
    multisets = [tuple(sorted(mask.sum(axis=1).tolist())) for mask in trace.candidates]
    assert set(multisets[8:]) <= set(multisets[:8])
    assert min(sum(m) for m in multisets) < 6


def test_compositions_given_to_start_from_take_part():
    smaller = evolve(make_problem("menu", 4), SearchConfig(), rng())
    problem = make_problem("menu", 6)
    found = evolve(problem, SearchConfig(rounds=1), rng(), starts=[smaller.composition])
    assert found.trace.made_by[2] == "start"
    start = problem.candidates.compose(found.trace.candidates[2])
    assert (start.depths >= smaller.composition.depths).all()
    assert found.estimate >= smaller.estimate


def test_refine_lets_real_evaluation_choose_among_the_best(kind):
    """The estimator prefers the wrong group; the evaluator knows better."""

    def mistaken(depths, neighbours):
        return worth(depths[:, ::-1], neighbours)

    space = make_problem(kind).candidates
    problem = Problem(space, mistaken, worth)
    plain = evolve(problem, SearchConfig(rounds=200), rng())
    refined = evolve(problem, SearchConfig(rounds=200, refine=30), rng())
    measured = refined.trace.measured
    assert plain.measured is None
    assert (
        refined.measured
        == np.nanmax(measured)
        == problem.measures(space.of(refined.composition)[None])
    )
    assert np.isfinite(measured[[0, 1]]).all()  # uniform and greedy are among them
    assert np.isfinite(measured).sum() <= 32
    assert refined.measured > worth(plain.composition.depths[None], None)[0]


@pytest.mark.parametrize(("lead", "stays"), [(0.004, True), (0.006, False)])
def test_a_start_stays_unless_what_is_measured_leads_it_clearly(kind, lead, stays):
    """Whatever the estimator promises: what is measured differs by chance, too."""
    space = make_problem(kind, 6).candidates
    start = uniform(Problem(space, worth), SearchConfig(), rng()).composition

    def measure(depths, neighbours):
        return np.where((depths == start.depths).all(axis=(1, 2)), 1.0, 1.0 + lead)

    config = SearchConfig(rounds=50, refine=10, margin=0.02, starts=("uniform",))
    found = evolve(Problem(space, worth, measure), config, rng())
    assert (found.measured == 1.0) is stays
    both = evolve(
        Problem(space, worth, measure), replace(config, starts=("uniform", "greedy")), rng()
    )
    assert (both.measured == 1.0) is stays  # a greedy start is one of the others
    assert np.array_equal(found.composition.depths, start.depths) is stays
    assert evolve(
        Problem(space, worth, measure), replace(config, margin=0), rng()
    ).measured == pytest.approx(1 + lead)


def test_refining_needs_an_evaluator():
    problem = Problem(make_problem("menu").candidates, worth)
    with pytest.raises(ValueError, match="no evaluator"):
        evolve(problem, SearchConfig(refine=2), rng())


def test_a_budget_above_the_full_size_gives_everything_and_says_so(kind):
    problem = make_problem(kind, budget_blocks=50)
    found = evolve(problem, SearchConfig(), rng())
    assert found.composition.kept.all()
    assert found.n_bytes == 96 + 9 * 320
    assert "holds the full model of 2.976 KB" in found.note
    assert found.note in found.summary()


def test_a_budget_below_the_smallest_names_it(kind):
    with pytest.raises(InputError, match=r"smallest possible is 1.056 KB \(1056 bytes\)"):
        make_problem(kind, budget_blocks=2)


def test_the_smallest_budget_leaves_no_choice_but_which_block(kind):
    found = evolve(make_problem(kind, budget_blocks=3), SearchConfig(), rng())
    assert found.composition.kept.sum(axis=1).tolist() == [1, 1, 1]


def test_an_estimate_that_is_no_number_is_refused():
    problem = Problem(make_problem("menu").candidates, lambda d, n: np.full(len(d), np.nan))
    with pytest.raises(ValueError, match="not a finite number"):
        evolve(problem, SearchConfig(), rng())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 0}, "population must be positive"),
        ({"tournament": 0}, "tournament must be positive"),
        ({"rounds": 0}, "rounds must be positive"),
        ({"children": -1}, "children must be positive"),
        ({"refine": -1}, "refine must be 0 or more"),
        ({"margin": -0.1}, "margin must be 0 or more"),
        ({"mutations": ("swap", "jump")}, "'jump', expected some of swap, reselect, move"),
        ({"mutations": ()}, "no mutations"),
        ({"starts": ("best",)}, "expected some of uniform, greedy"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SearchConfig(**settings)


def test_a_saved_trace_is_one_line_per_candidate(tmp_path):
    found = evolve(make_problem("menu"), SearchConfig(rounds=3, refine=1), rng())
    found.trace.save(tmp_path / "trace.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(23))
    assert lines[0]["made_by"] == "uniform"
    assert lines[5]["choice"] == found.trace.candidates[5].tolist()
    assert max(line["measured"] or 0 for line in lines) == found.measured
