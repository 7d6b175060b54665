import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec_demo.config import DemoConfig, spread_budgets
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.groups import even_sizes
from elasticrec.space.ladder import Ladder


def ladder(n_items, n_blocks, d=8, n_groups=1):
    sizes = even_sizes(n_items, n_groups)
    return Ladder.of_counts(n_blocks, PaperAccounting(sizes, n_blocks, d))


def test_the_sample_gets_round_budgets():
    found = spread_budgets(ladder(8_828, 16, n_groups=20))
    assert [str(budget) for budget in found] == ["600 KB", "1 MB", "2 MB"]


def test_bundles_are_spread_from_some_bytes_per_item_on(planted):
    files = DemoConfig().budgets_of(planted)
    vectors = DemoConfig(preset="paper-amazon-book")
    assert DemoConfig().packs
    assert not vectors.packs
    assert [str(budget) for budget in files] == ["20 KB", "30 KB"]
    assert [str(budget) for budget in vectors.budgets_of(planted)] == ["10 KB", "30 KB", "50 KB"]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 10**6), st.integers(1, 16))
def test_spread_budgets_ascend_and_hold_some_model(n_items, n_blocks):
    rungs = ladder(n_items, n_blocks)
    found = [budget.n_bytes for budget in spread_budgets(rungs)]
    assert found == sorted(set(found))
    assert 1 <= len(found) <= 3
    assert rungs.smallest_bytes <= found[0]
    assert found[-1] <= rungs.full_bytes


def test_budgets_ascend_without_repeats_and_too_small_ones_are_refused(planted):
    budgets = tuple(Budget(n) for n in (90_000, 50_000, 90_000))
    found = DemoConfig(budgets=budgets).budgets_of(planted)
    assert [budget.n_bytes for budget in found] == [50_000, 90_000]
    with pytest.raises(InputError, match=r"the smallest possible is \d+\.\d+ KB"):
        DemoConfig(budgets=(Budget(100),)).budgets_of(planted)
    with pytest.raises(InputError, match=r"the smallest possible is 6\.912 KB"):
        DemoConfig(budgets=(Budget(100),), preset="paper-yelp").budgets_of(planted)


def test_a_seed_reaches_every_stage():
    chosen = DemoConfig(seed=5).settings
    stages = (chosen.train, chosen.space, chosen.samples, chosen.estimator)
    assert [stage.seed for stage in stages] == [5] * 4


def test_a_person_is_found_by_id(planted):
    assert DemoConfig(person="7").person_of(planted) == 7
    assert DemoConfig().person_of(planted) is None
    with pytest.raises(InputError, match="unknown user '999'"):
        DemoConfig(person="999").person_of(planted)


def test_the_demo_measures_two_thousand_compositions_of_menus():
    chosen = DemoConfig().settings
    assert (chosen.samples.n_samples, chosen.train.dimensions) == (2_000, 128)
    assert not chosen.space.free
