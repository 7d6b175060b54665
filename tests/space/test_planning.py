import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.space.budget import Budget
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.groups import even_sizes
from elasticrec.space.ladder import Ladder
from elasticrec.space.menu import default_menu
from elasticrec.space.planning import draw_planned
from elasticrec.rule.randomizer import draw_shares

MENU = default_menu(0.7 ** np.arange(4))
ACCOUNTING = FileAccounting(even_sizes(2_003, 8), 4)
LADDER = Ladder.of(MENU, ACCOUNTING)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_planned_draws_keep_to_the_allowance_and_leave_nothing_that_fits(seed, share):
    most = int(LADDER.cost(LADDER.dearest).sum())
    allowance = int(share * most)
    rows = draw_planned(LADDER, allowance, np.random.default_rng(seed))
    left = allowance - int(LADDER.cost(rows).sum())
    assert left >= 0
    assert not len(LADDER.can_rise(rows, left))


def test_earlier_groups_get_more_and_every_draw_differs():
    draws = np.array([draw_planned(LADDER, 20_000, np.random.default_rng(i)) for i in range(80)])
    spent = np.array([LADDER.cost(rows) for rows in draws]).mean(axis=0)
    assert spent[0] > spent[3] > spent[7]
    assert len({rows.tobytes() for rows in draws}) > 70
    assert len(np.unique(draws)) > 15


def test_a_floor_is_kept():
    floor = np.full(8, 3)
    ladder = Ladder.of(MENU, ACCOUNTING, floor=floor)
    for seed in range(20):
        rows = draw_planned(ladder, 40_000, np.random.default_rng(seed))
        assert ladder.allowed[np.arange(8), rows].all()


def test_a_share_of_the_draws_is_planned():
    budgets = [Budget(30_000)]
    plain, planned = (
        draw_shares(
            range(40), seed=1, accounting=ACCOUNTING, menu=MENU, budgets=budgets, planned=share
        )
        for share in (0.0, 1.0)
    )
    assert not np.array_equal(plain.choices, planned.choices)
    assert (ACCOUNTING.sizes(planned.depths, planned.neighbours) <= planned.totals).all()
