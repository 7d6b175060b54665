import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space.ladder import NEVER, Ladder

CROSSED = Menu(np.array([[0], [1], [2], [0], [1], [2]]), np.array([0, 0, 0, 4, 4, 4]))
PER_ITEM = np.array([0, 10, 20, 7, 17, 27])


def crossed(sizes=(3, 5)):
    return Ladder(CROSSED, np.array(sizes)[:, None] * PER_ITEM, fixed_bytes=100)


def test_steps_lead_to_the_next_rows_that_contain_this_one():
    ladder = crossed()
    assert ladder.ups == [[1, 3], [2, 4], [5], [4], [5], []]
    assert ladder.downs == [[], [0], [1], [0], [1, 3], [2, 4]]
    assert ladder.prices[1].tolist() == [35, 35, 35, 50, 50, NEVER]


def test_smallest_and_full_count_the_fixed_part():
    assert (crossed().smallest_bytes, crossed().full_bytes) == (100, 100 + 8 * 27)
    assert crossed().dearest.tolist() == [5, 5]


def test_allowance_is_the_budget_without_the_fixed_part():
    assert crossed().allowance(Budget(150)) == 50
    with pytest.raises(InputError, match=r"smallest possible is 100 B \(100 bytes\)"):
        crossed().allowance(Budget(99))


def test_repair_ends_at_the_cheapest_row_though_others_have_nothing_below():
    menu = Menu(np.array([[1, 0], [0, 1], [1, 1]]), np.array([0, 0, 0]))
    ladder = Ladder(menu, np.array([[50, 20, 70], [50, 20, 70]]))
    for seed in range(20):
        choice = np.array([2, 0])
        left = ladder.repair(choice, 40 - 120, np.random.default_rng(seed))
        assert choice.tolist() == [1, 1]
        assert left == 0


def test_repair_and_top_up_report_what_is_left():
    ladder, rng = crossed(), np.random.default_rng(0)
    for _ in range(50):
        choice = rng.integers(0, 6, size=2)
        allowance = int(rng.integers(0, 220))
        left = ladder.repair(choice, allowance - int(ladder.cost(choice).sum()), rng)
        assert left == allowance - ladder.cost(choice).sum() >= 0
        left = ladder.top_up(choice, left, rng)
        assert left == allowance - ladder.cost(choice).sum() >= 0
        assert not len(ladder.can_rise(choice, left))


def test_topping_up_in_order_serves_the_first_groups_first():
    ladder = Ladder(Menu.f32_prefixes(np.arange(4)), np.tile(np.arange(1, 5) * 10, (5, 1)))
    choice = np.zeros(5, dtype=np.int64)
    assert ladder.top_up_in_order(choice, 36) == 6
    assert choice.tolist() == [1, 1, 1, 0, 0]
    assert ladder.top_up_in_order(choice, 55) == 5
    assert choice.tolist() == [2, 2, 2, 1, 1]


def test_a_row_never_costs_less_than_its_parts():
    with pytest.raises(ValueError, match="costs less than a row that it contains"):
        Ladder(Menu.f32_prefixes(np.arange(2)), np.array([[10, 9]]))


def test_an_accounting_that_demands_a_block_refuses_an_empty_row():
    menu = Menu.f32_prefixes(np.arange(2), include_empty=True)
    with pytest.raises(InputError, match="row 0 of the menu keeps no block"):
        Ladder.of(menu, PaperAccounting(np.array([3]), 2, 8))
