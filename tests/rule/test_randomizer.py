import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import F32, Menu
from elasticrec.space.groups import even_sizes
from elasticrec.space.ladder import Ladder
from elasticrec.rule.randomizer import (
    _shared,
    draw_counts,
    draw_free,
    draw_shares,
    generator,
    random_blocks,
)

MEGABYTES = {"amazon-book": (91_599, (34, 68, 170)), "yelp2020": (105_843, (29, 59, 147))}


def blocks_only(G=20, N=16):
    """A ladder that counts blocks, one byte each: Alg. 1's own unit."""
    return Ladder(Menu.f32_prefixes(np.arange(N)), np.tile(np.arange(1, N + 1), (G, 1)))


def unspent(accounting, depths, budget):
    """The cheapest block that was not taken, less what is left: positive if nothing fits."""
    left = budget.n_bytes - accounting.sizes(depths[None], np.zeros((1, len(depths))))[0]
    prices = accounting.group_sizes * accounting.block_size * 4
    missing = (depths == 0).any(axis=1)
    return left, prices[missing].min() if missing.any() else np.inf


@pytest.mark.parametrize("name", MEGABYTES)
def test_spends_exactly_the_papers_blocks(name):
    items, expected = MEGABYTES[name]
    accounting = PaperAccounting(even_sizes(items, 20), 16, 8)
    for megabytes, blocks in zip((5, 10, 25), expected, strict=True):
        budget = Budget.megabytes(megabytes)
        drawn = draw_free(
            range(50), seed=1, n_groups=20, n_blocks=16, accounting=accounting, budget=budget
        )
        assert set((drawn.depths == F32).sum(axis=(1, 2))) == {blocks}


def test_printed_form_underspends_and_ours_does_not():
    """Ledger 3: M = 59, mean 57.3, 45 % of draws short."""
    ladder, rng = blocks_only(), np.random.default_rng(0)
    printed = np.array([draw_counts(ladder, 59, rng, printed=True) + 1 for _ in range(4000)])
    ours = np.array([draw_counts(ladder, 59, rng) + 1 for _ in range(500)])
    assert printed.sum(axis=1).mean() == pytest.approx(57.25, abs=0.15)
    assert np.mean(printed.sum(axis=1) < 59) == pytest.approx(0.446, abs=0.03)
    assert printed.sum(axis=1).max() == 59
    assert set(ours.sum(axis=1)) == {59}


def test_counts_follow_the_gaussian_around_the_corrected_mean():
    ladder, rng = blocks_only(), np.random.default_rng(0)
    counts = np.array([draw_counts(ladder, 160, rng, printed=True) + 1 for _ in range(3000)])
    inside = counts[counts.sum(axis=1) < 160]  # nothing was removed from these
    assert counts.mean() == pytest.approx(8, abs=0.15)
    assert inside.std() == pytest.approx(np.sqrt(1 + 1 / 12), abs=0.05)  # rounding adds 1/12


def test_every_subset_of_blocks_is_equally_likely():
    rng = np.random.default_rng(0)
    drawn = random_blocks(np.full(6000, 2), 4, rng)
    assert set(drawn.sum(axis=1)) == {2}
    _, times = np.unique(drawn, axis=0, return_counts=True)
    assert len(times) == 6
    assert np.abs(times - 1000).max() < 150


def test_alg_3_draws_totals_uniformly_from_one_to_all_blocks_per_group():
    drawn = draw_free(range(3000), seed=5, n_groups=4, n_blocks=3)
    counts = (drawn.depths > 0).sum(axis=(1, 2))
    assert np.array_equal(counts, drawn.totals)
    values, times = np.unique(drawn.totals, return_counts=True)
    assert values.tolist() == list(range(4, 13))
    assert np.abs(times - 3000 / 9).max() < 80


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=25),
    N=st.integers(1, 20),
    share=st.floats(0, 1.1),
    seed=st.integers(0, 1000),
)
def test_never_over_never_empty_nothing_that_fits_unspent(sizes, N, share, seed):
    accounting = PaperAccounting(np.array(sizes), N, 8)
    ladder = Ladder.of_counts(N, accounting)
    spare = ladder.full_bytes - ladder.smallest_bytes
    budget = Budget(ladder.smallest_bytes + int(share * spare))
    asked = {"n_groups": len(sizes), "n_blocks": N, "accounting": accounting, "budget": budget}
    free = draw_free(range(3), seed=seed, **asked)
    printed = draw_free(range(3), seed=seed, printed=True, **asked)
    menu = Menu.f32_prefixes(np.arange(N))
    near = draw_shares(range(3), seed=seed, accounting=accounting, menu=menu, budgets=[budget])
    for depths, total in [
        *((d, budget) for d in free.depths),
        *((d, Budget(int(t))) for d, t in zip(near.depths, near.totals, strict=True)),
    ]:
        left, cheapest = unspent(accounting, depths, total)
        assert 0 <= left < cheapest
        assert depths.any(axis=1).all()
    for depths in printed.depths:
        assert unspent(accounting, depths, budget)[0] >= 0
        assert depths.any(axis=1).all()


@pytest.mark.parametrize("shares", [False, True])
def test_draw_i_depends_on_seed_and_i_alone(shares):
    accounting = PaperAccounting(np.array([50, 20, 90]), 4, 8)
    menu = Menu.f32_prefixes(np.arange(4))

    def draw(numbers, seed):
        if shares:
            steps = [Budget(9000), Budget(14000)]
            return draw_shares(
                numbers, seed=seed, accounting=accounting, menu=menu, budgets=steps
            ).depths
        return draw_free(numbers, seed=seed, n_groups=3, n_blocks=4).depths

    whole = draw(range(40), 7)
    parts = np.concatenate([draw(range(17, 40), 7), draw(range(17), 7)])
    assert np.array_equal(np.concatenate([parts[23:], parts[:23]]), whole)
    assert not np.array_equal(draw(range(40), 8), whole)
    assert draw([], 7).shape == (0, 3, 4)


def test_shares_lie_near_the_steps_and_half_are_sorted_by_popularity():
    accounting = PaperAccounting(even_sizes(91_599, 20), 16, 8)
    menu = Menu.f32_prefixes(np.arange(16))
    steps = [Budget.megabytes(mb) for mb in (5, 10, 25)]
    drawn = draw_shares(range(600), seed=0, accounting=accounting, menu=menu, budgets=steps)
    apart = np.abs(np.log(drawn.totals[:, None] / [b.n_bytes for b in steps])).min(axis=1)
    assert np.sqrt(np.mean(apart**2)) == pytest.approx(0.1, rel=0.1)
    assert np.array_equal(menu.depths[drawn.choices], drawn.depths)
    middle = drawn.choices[np.abs(np.log(drawn.totals / 10e6)) < 0.2]
    falls = [np.corrcoef(choice, np.arange(20))[0, 1] < -0.55 for choice in middle]
    assert 0.4 < np.mean(falls) < 0.6
    assert middle.max(axis=1).mean() > 3 * middle.mean()  # shares are far from equal


def test_a_group_takes_any_of_the_largest_rows_its_share_pays_for():
    class ByteEach(PaperAccounting):
        needs_block = False

        def row_table(self, depths, neighbours):
            per_item = depths.sum(axis=1).astype(np.int64) + 3 * neighbours
            return self.group_sizes[:, None] * per_item[None, :]

    menu = Menu(np.array([[0], [3], [6], [0], [3]]), np.array([0, 0, 0, 1, 1]))
    accounting = ByteEach(np.array([100]), 1, 8)
    budget = Budget(accounting.fixed_bytes + 400)
    drawn = draw_shares(range(60), seed=0, accounting=accounting, menu=menu, budgets=[budget])
    assert set(drawn.choices[:, 0]) == {1, 3}  # 300 bytes either way, not row 0


def test_a_budget_below_the_smallest_names_it():
    accounting = PaperAccounting(np.array([100, 100]), 4, 8)
    smallest = 4 * 8 * 4 + 2 * 100 * 32
    with pytest.raises(InputError, match=rf"smallest possible is .*\({smallest} bytes\)"):
        draw_free(
            [0], seed=0, n_groups=2, n_blocks=4, accounting=accounting, budget=Budget(smallest - 1)
        )


def test_a_budget_and_an_accounting_come_together():
    with pytest.raises(InputError, match="needs an accounting"):
        draw_free([0], seed=0, n_groups=2, n_blocks=4, budget=Budget(100))
    accounting = PaperAccounting(np.array([100, 100]), 4, 8)
    with pytest.raises(InputError, match="at least one"):
        draw_shares(
            [0], seed=0, accounting=accounting, menu=Menu.f32_prefixes(np.arange(4)), budgets=[]
        )


def test_generators_of_draws_differ():
    assert generator(0, 1).random() != generator(0, 2).random() != generator(1, 1).random()


def test_alg_3_leaves_small_budgets_bare_and_treats_groups_nearly_alike():
    """Ledger 8: few of its samples are near a small budget, and none is uneven; ours are."""
    accounting = PaperAccounting(even_sizes(91_599, 20), 16, 8)
    printed = draw_free(range(600), seed=0, n_groups=20, n_blocks=16, printed=True)
    ours = draw_shares(
        range(600),
        seed=0,
        accounting=accounting,
        menu=Menu.f32_prefixes(np.arange(16)),
        budgets=[Budget.megabytes(5)],
    )
    spread = {}
    for name, drawn in (("printed", printed), ("ours", ours)):
        counts = (drawn.depths > 0).sum(axis=2)  # (B, G)
        near = np.abs(np.log(counts.sum(axis=1) / 34)) < 0.3  # 34 blocks: 5 MB
        spread[name] = near.mean(), counts[near].std(axis=1).mean()
    prior = np.sqrt(1 + 1 / 12)  # a normal number of variance 1, rounded
    assert spread["printed"][0] < 0.1
    assert spread["ours"][0] > 0.9
    assert spread["printed"][1] < prior < spread["ours"][1]


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 30), st.integers(0, 1000), st.floats(0, 1))
def test_shares_add_up_within_their_bounds(G, seed, where):
    rng = np.random.default_rng(seed)
    shares = np.exp(rng.normal(size=G))
    least = rng.integers(0, 50, G)
    most = least + rng.integers(0, 500, G)
    total = int(least.sum() + where * (most.sum() - least.sum()))
    given_bytes = _shared(shares, least, most, total)
    assert given_bytes.sum() == pytest.approx(total, abs=1e-6)
    assert (given_bytes >= least).all()
    assert (given_bytes <= most).all()
    free = (given_bytes > least) & (given_bytes < most)
    assert np.ptp(given_bytes[free] / shares[free]) < 1e-6 if free.any() else True
