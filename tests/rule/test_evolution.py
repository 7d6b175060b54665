"""Alg. 2, line by line."""

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.rule.config import MUTATIONS, SearchConfig
from elasticrec.rule.evolution import Seen, evolve, leaders
from elasticrec.rule.search_space import uniform
from elasticrec.space import Budget

from .conftest import all_candidates, blocks, budget_of, half_way, worth


def rng(seed=0):
    return np.random.default_rng(seed)


def run(space, config, seed=0, estimate=worth, budget=None, **more):
    return evolve(space, budget or half_way(space), estimate, config, rng(seed), **more)


def test_finds_the_best_of_all_candidates(space):
    every = np.array(all_candidates(space, half_way(space)))
    found = run(space, SearchConfig(rounds=400))
    assert leaders(found, 1)[0].estimate == pytest.approx(worth(every).max())
    assert space.size(space.counts(leaders(found, 1)[0].candidate)) <= half_way(space).n_bytes


def test_the_same_seed_replays_the_whole_search(space):
    config = SearchConfig(rounds=40)
    one, same, other = (run(space, config, seed) for seed in (1, 1, 2))

    def told(cache):
        return [(s.candidate.tolist(), s.parent, s.made_by, s.estimate) for s in cache]

    assert told(one) == told(same) != told(other)


def test_p_at_first_then_one_child_in_each_of_c_rounds():
    asked = []

    def estimate(candidates):
        asked.append(len(candidates))
        return worth(candidates)

    cache = run(blocks(), SearchConfig(population=9, rounds=4), estimate=estimate)
    assert asked == [9, 1, 1, 1, 1]
    assert [seen.made_by for seen in cache[:9]] == ["random"] * 9
    assert [seen.parent for seen in cache[:9]] == [-1] * 9
    assert {seen.made_by for seen in cache[9:]} <= set(MUTATIONS)


def test_a_child_is_estimated_and_not_the_model_before_it(space):
    """Ledger 4: `estimate(model.EE)` in Alg. 2 means the child."""
    for seen in run(space, SearchConfig(population=3, rounds=20)):
        assert seen.estimate == worth(seen.candidate[None])[0]


def alive_before(cache, population):
    """The numbers in `seed` before each round: a new child joins, and the worst leaves."""
    alive = list(range(population))
    for number in range(population, len(cache)):
        yield number, list(alive)
        known = [cache[n].candidate.tolist() for n in alive]
        if cache[number].candidate.tolist() not in known:
            alive.append(number)
            alive.remove(min(alive, key=lambda n: cache[n].estimate))


def test_the_worst_leaves_and_the_best_of_a_tournament_breeds(space):
    """Ledger 4: parents come from a population that lost its worst in every round."""
    cache = run(space, SearchConfig(population=4, tournament=500, rounds=40))
    for number, alive in alive_before(cache, 4):
        best = max(alive, key=lambda n: cache[n].estimate)  # 500 draws of 4 meet every one
        assert cache[cache[number].parent].estimate == cache[best].estimate


def test_a_tournament_of_one_breeds_anyone_and_a_larger_one_rather_the_best():
    """S models are drawn with replacement: the best of P wins with 1 - (1 - 1/P)^S."""
    space = blocks([10] * 6, 8)

    def share_of_best(tournament):
        luck = rng(7)
        config = SearchConfig(population=10, tournament=tournament, rounds=600)
        cache = run(space, config, estimate=lambda c: luck.random(len(c)))
        wins = [
            cache[number].parent == max(alive, key=lambda n: cache[n].estimate)
            for number, alive in alive_before(cache, 10)
        ]
        return float(np.mean(wins))

    assert share_of_best(1) == pytest.approx(0.1, abs=0.05)
    assert share_of_best(5) == pytest.approx(1 - 0.9**5, abs=0.07)


def test_a_copy_does_not_join():
    space = blocks([10] * 2, 2)  # four candidates, so most children are known
    config = SearchConfig(population=6, rounds=60)
    cache = run(space, config, estimate=lambda c: c[:, 0, 0] * 1.0, budget=budget_of(space, 3))
    assert len(cache) == 66
    for number, alive in alive_before(cache, 6):
        assert cache[number].parent in alive


def test_the_best_ever_seen_is_returned_and_leaders_are_distinct():
    one, two = np.array([1, 2]), np.array([2, 1])
    cache = [Seen(c, y, -1, "random") for c, y in ((one, 1), (two, 3), (one, 1), (two, 3))]
    assert [seen.estimate for seen in leaders(cache, 5)] == [3, 1]
    assert leaders(cache, 1) == [cache[1]]


def test_starts_take_part_as_they_are(space):
    budget = half_way(space)
    start = uniform(space, budget)
    cache = run(space, SearchConfig(population=5, rounds=1), starts=[start])
    assert np.array_equal(cache[0].candidate, start)
    assert [seen.made_by for seen in cache[:5]] == ["uniform"] + ["random"] * 4
    seen = run(space, SearchConfig(rounds=1), starts=[start])
    assert leaders(seen, 1)[0].estimate >= worth(start[None])[0]


def test_printed_setting_starts_at_random_leaves_bytes_and_only_permutes():
    space = blocks([10] * 6, 5, top_up=False)
    config = SearchConfig.printed(population=8, rounds=60)
    cache = run(space, config, estimate=lambda c: c[:, :, 0].sum(axis=1) * 1.0)
    assert {seen.made_by for seen in cache[8:]} == {"swap", "reselect"}
    multisets = [tuple(sorted(seen.candidate.sum(axis=1).tolist())) for seen in cache]
    assert set(multisets[8:]) <= set(multisets[:8])
    most = (half_way(space).n_bytes - space.user_bytes) // space.block_bytes[0]
    assert min(sum(m) for m in multisets) < most


def test_an_estimate_that_is_no_number_is_refused(space):
    with pytest.raises(ValueError, match="not a finite number"):
        run(space, SearchConfig(), estimate=lambda c: np.full(len(c), np.nan))


def test_a_budget_below_the_smallest_is_refused(space):
    with pytest.raises(InputError, match="smallest possible is"):
        run(space, SearchConfig(), budget=Budget(space.smallest.n_bytes - 1))


def test_uniform_treats_all_alike_and_gives_the_rest_to_the_first_groups():
    space = blocks()
    assert uniform(space, budget_of(space, 5)).sum(axis=1).tolist() == [2, 2, 1]
    assert uniform(space, budget_of(space, 3)).sum(axis=1).tolist() == [1, 1, 1]
    assert uniform(space, budget_of(space, 50)).all()


def test_uniform_of_the_papers_setting_spends_all_its_blocks():
    space = blocks([4580] * 20, 16)
    for megabytes, n_blocks in ((5, 34), (10, 68), (25, 170)):
        counts = uniform(space, Budget.parse(f"{megabytes}MB")).sum(axis=1)
        assert counts.tolist() == [n_blocks // 20 + (g < n_blocks % 20) for g in range(20)]
