import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.rule.estimator.draws import HELD_OUT, STEP, Draws, budget_steps, held_out_budgets
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space.ladder import Ladder

G, N, D = 6, 5, 8
ACCOUNTING = PaperAccounting(np.array([30, 30, 30, 30, 29, 29]), N, D)
MENU = Menu.f32_prefixes(np.array([2, 0, 1, 4, 3]))


def draws(menu, seed=0, *, printed=False, budgets=(12_000, 20_000)):
    return Draws(ACCOUNTING, G, N, menu, printed, tuple(Budget(b) for b in budgets), seed)


@settings(deadline=None, max_examples=20)
@given(
    numbers=st.lists(
        st.integers(0, 50)
        | st.integers(0, 9).map(lambda j: HELD_OUT + j)
        | st.integers(0, 9).map(lambda j: HELD_OUT + 10**6 + j),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    menu=st.sampled_from([MENU, None]),
)
def test_a_draw_depends_on_its_number_alone(numbers, menu):
    given_draws = draws(menu)
    together = given_draws(numbers)
    for place, number in enumerate(numbers):
        alone = given_draws([number])
        assert np.array_equal(alone.depths[0], together.depths[place])
        assert np.array_equal(alone.neighbours[0], together.neighbours[place])


@pytest.mark.parametrize("menu", [MENU, None])
def test_held_out_draws_spend_their_budget(menu):
    made = draws(menu)
    step = 30 * D * 4  # what one more block costs at most
    for place, budget in enumerate(made.held_out):
        drawn = made(made.held_out_numbers(place, 20))
        sizes = ACCOUNTING.sizes(drawn.depths, drawn.neighbours)
        assert (sizes <= budget.n_bytes).all()
        assert (sizes > budget.n_bytes - step).all()
        assert len(np.unique(drawn.depths, axis=0)) > 15  # they differ


def test_seeds_differ_and_a_pickled_copy_draws_the_same():
    made = draws(MENU, seed=3)
    copy = pickle.loads(pickle.dumps(made))
    assert np.array_equal(copy(range(9)).depths, made(range(9)).depths)
    assert not np.array_equal(draws(MENU, seed=4)(range(9)).depths, made(range(9)).depths)


def test_draws_from_a_menu_are_rows_of_it():
    drawn = draws(MENU)([*range(20), HELD_OUT])
    rows = {row.tobytes() for row in MENU.depths}
    assert all(row.tobytes() in rows for row in drawn.depths.reshape(-1, N))


def test_steps_span_all_sizes():
    ladder = Ladder.of(MENU, ACCOUNTING)
    steps = [budget.n_bytes for budget in budget_steps(ladder)]
    assert steps[0] == ladder.smallest_bytes
    assert steps[-1] == ladder.full_bytes
    ratios = np.array(steps[1:]) / steps[:-1]
    assert (ratios <= STEP + 1e-3).all()
    one_row = Ladder.of(Menu(MENU.depths[-1:], [0]), ACCOUNTING)
    assert [budget.n_bytes for budget in budget_steps(one_row)] == [one_row.full_bytes]


def test_held_out_budgets_are_bytes_per_item_where_there_is_a_choice():
    ladder = Ladder.of(MENU, ACCOUNTING)
    found = held_out_budgets((1.0, 54.6, 109.2, 1000.0), 178, ladder)
    assert [budget.n_bytes for budget in found] == [9719, 19438]
