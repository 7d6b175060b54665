"""Alg. 1, by the numbers that the paper implies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.free_blocks import FreeBlocks, random_groups
from elasticrec.rule.search_space import bounded, draw_counts, pick, random_candidate
from elasticrec.space import Budget

from .conftest import blocks, budget_of, half_way, levels

MEGABYTES = {"amazon-book": (91_599, (34, 68, 170)), "yelp2020": (105_843, (29, 59, 147))}


def paper_space(items=91_599, **config):
    """20 random groups of 16 blocks of 8 numbers."""
    config = SpaceConfig(kind="blocks", groups="random", **config)
    return FreeBlocks(random_groups(items, 20, np.random.default_rng(0)), 16, 8, config)


@pytest.mark.parametrize("name", MEGABYTES)
def test_spends_exactly_the_papers_blocks(name):
    items, expected = MEGABYTES[name]
    space, rng = paper_space(items), np.random.default_rng(1)
    for megabytes, n_blocks in zip((5, 10, 25), expected, strict=True):
        budget = Budget.parse(f"{megabytes}MB")
        assert space.n_blocks(budget) == n_blocks
        drawn = [random_candidate(space, budget, rng) for _ in range(30)]
        assert {int(mask.sum()) for mask in drawn} == {n_blocks}


def test_printed_form_underspends_and_ours_does_not():
    """Ledger 3: M = 59, mean 57.25, 45 % of draws short."""
    printed, ours = (paper_space(105_840, top_up=top_up) for top_up in (False, True))
    rng, budget = np.random.default_rng(0), Budget.parse("10MB")
    assert printed.n_blocks(budget) == 59
    spent = np.array([draw_counts(printed, budget, rng).sum() for _ in range(4000)])
    assert spent.mean() == pytest.approx(57.25, abs=0.15)
    assert np.mean(spent < 59) == pytest.approx(0.446, abs=0.03)
    assert spent.max() == 59
    assert {int(draw_counts(ours, budget, rng).sum()) for _ in range(300)} == {59}


def test_printed_mean_gives_every_group_a_block_or_two_at_every_budget():
    """Ledger 3: M/(G·|V_g|) is next to 0, so nothing but σ is left of the budget."""
    space = paper_space(printed_mean=True, top_up=False)
    rng = np.random.default_rng(0)
    small, large = (
        np.array([draw_counts(space, Budget.parse(f"{mb}MB"), rng) for _ in range(500)])
        for mb in (10, 25)
    )
    assert small.mean() == pytest.approx(large.mean(), abs=0.02)
    assert np.mean(large == 1) > 0.9
    corrected = draw_counts(paper_space(top_up=False), Budget.parse("25MB"), rng)
    assert corrected.mean() == pytest.approx(8.5, abs=0.7)


def test_counts_follow_the_gaussian_around_the_corrected_mean():
    space, rng = blocks([10] * 20, 16, top_up=False), np.random.default_rng(0)
    budget = budget_of(space, 160)
    counts = np.array([draw_counts(space, budget, rng) for _ in range(3000)])
    inside = counts[counts.sum(axis=1) < 160]  # nothing was removed from these
    assert counts.mean() == pytest.approx(8, abs=0.15)
    assert inside.std() == pytest.approx(np.sqrt(1 + 1 / 12), abs=0.05)  # rounding adds 1/12


def test_sigma_is_the_spread():
    rng = np.random.default_rng(0)
    for sigma in (0.5, 3.0):
        space = blocks([10] * 20, 40, top_up=False, sigma=sigma)
        drawn = np.array([space.draw_first(budget_of(space, 400), rng) for _ in range(500)])
        assert drawn.std() == pytest.approx(sigma, rel=0.05)
        assert drawn.mean() == pytest.approx(20, abs=0.2)


def test_no_group_takes_what_the_others_need():
    """Line 5: s_g is at most min(N, M - G + 1)."""
    space = blocks([10] * 4, 16, sigma=50.0, top_up=False)
    assert space.highest(budget_of(space, 9)).tolist() == [6] * 4
    assert space.highest(budget_of(space, 40)).tolist() == [16] * 4
    rng = np.random.default_rng(0)
    assert max(draw_counts(space, budget_of(space, 9), rng).max() for _ in range(200)) == 6


def test_repair_takes_from_every_group_alike():
    """Line 9: the group is drawn uniformly, so no group is favoured."""
    space, rng = blocks([10] * 5, 10, top_up=False), np.random.default_rng(0)
    full, budget = np.full(5, 10), budget_of(space, 25)
    left = np.array([bounded(space, full, budget, rng) for _ in range(600)])
    assert set(left.sum(axis=1)) == {25}
    assert np.abs(left.mean(axis=0) - 5).max() < 0.3
    assert len({tuple(row) for row in left.tolist()}) > 300


def test_top_up_gives_to_every_group_alike():
    space, rng = blocks([10] * 5, 10), np.random.default_rng(0)
    least, budget = np.ones(5, dtype=int), budget_of(space, 25)
    got = np.array([bounded(space, least, budget, rng) for _ in range(600)])
    assert set(got.sum(axis=1)) == {25}
    assert np.abs(got.mean(axis=0) - 5).max() < 0.3


def test_pick_is_uniform():
    rng = np.random.default_rng(0)
    times = np.bincount([pick(rng, 4) for _ in range(4000)])
    assert len(times) == 4
    assert np.abs(times - 1000).max() < 120


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=25),
    N=st.integers(1, 20),
    share=st.floats(0, 1.1),
    seed=st.integers(0, 1000),
)
def test_never_over_never_empty_nothing_that_fits_unspent(sizes, N, share, seed):
    rng = np.random.default_rng(seed)
    for top_up in (True, False):
        space = blocks(sizes, N, top_up=top_up)
        spare = space.full.n_bytes - space.smallest.n_bytes
        budget = Budget(space.smallest.n_bytes + int(share * spare))
        mask = random_candidate(space, budget, rng)
        assert mask.any(axis=1).all()
        left = budget.n_bytes - space.user_bytes - int((mask.sum(axis=1) * sizes).sum()) * 32
        missing = np.array(sizes)[~mask.all(axis=1)] * 32
        assert left >= 0
        if top_up:
            assert left < missing.min(initial=2**62)


@settings(deadline=None, max_examples=30)
@given(
    V=st.integers(40, 300),
    G=st.integers(1, 5),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_levels_stay_within_a_budget_that_they_spend(V, G, share, seed):
    space, rng = levels(V=V, G=G), np.random.default_rng(seed)
    spare = space.full.n_bytes - space.smallest.n_bytes
    budget = Budget(space.smallest.n_bytes + int(share * spare))
    drawn = draw_counts(space, budget, rng)
    assert 1 <= drawn.min() <= drawn.max() <= space.most
    assert space.size(drawn) <= budget.n_bytes
    assert not len(space.affordable(drawn, budget))


def test_half_of_the_levels_fall_with_popularity_and_the_spread_is_a_share():
    space = levels(V=4000, C=60, S=10, G=10, spread=0.2)
    budget, rng = half_way(space), np.random.default_rng(0)
    drawn = np.array([space.draw_first(budget, rng) for _ in range(1000)])
    falling = (np.diff(drawn, axis=1) <= 0).all(axis=1)
    assert np.mean(falling) == pytest.approx(0.5, abs=0.06)
    assert np.log(drawn).std() == pytest.approx(0.2, rel=0.05)
    alike = [k for k in range(1, space.most) if space.size(np.full(10, k)) <= budget.n_bytes]
    assert np.log(drawn).mean() == pytest.approx(np.log(alike[-1]), abs=0.02)


def test_a_budget_below_the_smallest_names_it(space):
    smallest = space.smallest.n_bytes
    assert space.size(draw_counts(space, Budget(smallest), np.random.default_rng(0))) == smallest
    with pytest.raises(InputError, match=rf"smallest possible is .*\({smallest} bytes\)"):
        draw_counts(space, Budget(smallest - 1), np.random.default_rng(0))
