"""Which compositions are measured: draw i depends on the settings and on (seed, i) alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import Menu
from elasticrec.space.ladder import Ladder
from elasticrec.rule.randomizer import Drawn, draw_free, draw_rows, draw_shares, generator

HELD_OUT = 10**9
"""Draws from here on are held out: HELD_OUT + b·HELD_OUT_STRIDE + j is the j-th of budget b."""
HELD_OUT_STRIDE = 10**6
"""Numbers kept for each held-out budget."""
FOUND = 2 * 10**9
"""Numbers from here on are no draws: what searches found with an estimator fitted on the others."""
STEP = 2**0.5
"""Ratio of neighbouring budget steps, near which our draws spend."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Compositions by number: to fit on from 0; held out, each spending a budget, from HELD_OUT."""

    accounting: Accounting
    """What compositions cost."""
    n_groups: int
    """G."""
    n_blocks: int
    """N."""
    menu: Menu | None
    """The rows to compose from; None draws free subsets of blocks (Alg. 1 and 3)."""
    printed: bool
    """Whether free draws are those of Alg. 1 as printed, without top-up."""
    held_out: tuple[Budget, ...]
    """The budgets of held-out draws."""
    seed: int
    """Together with its number, decides each draw."""
    least: int = 0
    """Bytes below which no total is drawn."""
    planned: float = 0.0
    """The share of draws to fit on that spend bytes where they seem worth most."""

    @property
    def ladder(self) -> Ladder:
        """What may be spent, and in which steps."""
        if self.menu is None:
            return Ladder.of_counts(self.n_blocks, self.accounting)
        return Ladder.of(self.menu, self.accounting)

    def held_out_numbers(self, budget: int, n: int) -> range:
        """The numbers of the first n draws of a held-out budget, given by its place."""
        first = HELD_OUT + budget * HELD_OUT_STRIDE
        return range(first, first + n)

    def __call__(self, numbers: Sequence[int]) -> Drawn:
        """The compositions of some numbers, in their order."""
        given = np.asarray(numbers, dtype=np.int64)
        kind = np.where(given < HELD_OUT, -1, (given - HELD_OUT) // HELD_OUT_STRIDE)
        places, parts = [], []
        for each in np.unique(kind).tolist():
            places.append(np.flatnonzero(kind == each))
            mine = given[places[-1]].tolist()
            parts.append(self._fitted(mine) if each < 0 else self._held_out(mine, each))
        back = np.argsort(np.concatenate(places))
        return Drawn(
            *(
                np.concatenate([getattr(part, name) for part in parts])[back]
                for name in ("depths", "neighbours", "totals")
            )
        )

    def _fitted(self, numbers: list[int]) -> Drawn:
        """Totals uniform in blocks (Alg. 3), or near the budget steps."""
        if self.menu is None:
            return draw_free(
                numbers,
                seed=self.seed,
                n_groups=self.n_groups,
                n_blocks=self.n_blocks,
                printed=self.printed,
            )
        return draw_shares(
            numbers,
            seed=self.seed,
            accounting=self.accounting,
            menu=self.menu,
            budgets=budget_steps(self.ladder, self.least),
            planned=self.planned,
        )

    def _held_out(self, numbers: list[int], place: int) -> Drawn:
        budget = self.held_out[place]
        if self.menu is None:
            return draw_free(
                numbers,
                seed=self.seed,
                n_groups=self.n_groups,
                n_blocks=self.n_blocks,
                accounting=self.accounting,
                budget=budget,
            )
        ladder = self.ladder
        allowance = ladder.allowance(budget)
        rows = np.array([draw_rows(ladder, allowance, generator(self.seed, i)) for i in numbers])
        totals = np.full(len(numbers), budget.n_bytes)
        return Drawn(self.menu.depths[rows], self.menu.neighbours[rows], totals, rows)


def budget_steps(ladder: Ladder, least: int = 0) -> list[Budget]:
    """Budgets from the smallest possible to the full size, neighbours at most `STEP` apart.

    Args:
        least: none is smaller, unless even the full size is.
    """
    full = ladder.full_bytes
    smallest = min(max(ladder.smallest_bytes, least), full)
    n = int(np.ceil(np.log(full / smallest) / np.log(STEP))) + 1 if full > smallest else 1
    return [Budget(int(size)) for size in np.geomspace(smallest, full, n).round()]


def held_out_budgets(
    bytes_per_item: Sequence[float], n_items: int, ladder: Ladder
) -> tuple[Budget, ...]:
    """The budgets that grant so many bytes per item, less those that leave nothing to choose."""
    asked = [Budget(round(each * n_items)) for each in bytes_per_item]
    return tuple(b for b in asked if ladder.smallest_bytes < b.n_bytes < ladder.full_bytes)
