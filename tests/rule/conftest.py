"""Small problems whose best compositions are known."""

import itertools

import numpy as np
import pytest

from elasticrec.rule.free_blocks import FreeBlocks
from elasticrec.search.menu_rows import MenuRows
from elasticrec.rule.problem import Problem
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu

WORTH = np.array([[8.0, 1.0, 3.0], [4.0, 2.0, 1.0], [1.0, 0.5, 0.2]])
"""What block n of group g adds: some groups and some blocks matter more."""


def worth(depths, neighbours):
    """(B,) a quality whose optimum is easy to see, with decreasing returns inside a group."""
    return np.sqrt(((depths > 0) * WORTH).sum(axis=2)).sum(axis=1)


def make_problem(kind, budget_blocks=5, sizes=(10, 10, 10), printed=False):
    """Three groups of three blocks of 32 bytes per item, beside a user of 96 bytes."""
    accounting = PaperAccounting(np.array(sizes), 3, 8)
    budget = Budget(96 + budget_blocks * 32 * 10)
    if kind == "free":
        space = FreeBlocks(np.arange(3), accounting, budget, printed=printed)
    else:
        space = MenuRows(Menu.f32_prefixes(np.array([0, 2, 1])), accounting, budget)
    return Problem(space, worth, worth)


def all_candidates(space):
    """Every candidate within the budget, whatever it leaves unspent."""
    if isinstance(space, FreeBlocks):
        rows = [np.array(bits, dtype=bool) for bits in itertools.product([0, 1], repeat=3)][1:]
    else:
        rows = list(range(space.menu.n_rows))
    every = [np.array(choice) for choice in itertools.product(rows, repeat=space.n_groups)]
    return [one for one in every if space.n_bytes(one) <= space.budget.n_bytes]


@pytest.fixture(params=["free", "menu"])
def kind(request):
    return request.param
