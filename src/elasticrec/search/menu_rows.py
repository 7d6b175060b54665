"""MenuRows: candidates that give each group one row of a menu. Our space."""

from __future__ import annotations

import numpy as np

from elasticrec.search.candidates import Candidates
from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import Composition, Menu
from elasticrec.space.ladder import Ladder, pick
from elasticrec.space.randomizer import draw_rows


class MenuRows(Candidates):
    """Each group has one row of a menu: our space."""

    def __init__(
        self,
        menu: Menu,
        accounting: Accounting,
        budget: Budget,
        *,
        containing: Composition | None = None,
        falling: bool = False,
    ) -> None:
        """All compositions of a menu within a budget.

        Args:
            containing: what each of them must contain, such as that of a smaller budget.
            falling: rows are put in order of falling bytes, so that no group gets more than a more
                popular one. What a validation of some thousand users says about one rare group is
                mostly chance; a search without this rule finds that chance and believes it.
        """
        floor = None if containing is None else menu.choice_of(containing)
        ladder = Ladder.of(menu, accounting, floor=floor)
        super().__init__(ladder, accounting, budget, topped=True)
        self.menu = menu
        self.falling = falling

    def rows(self, candidate: np.ndarray) -> np.ndarray:
        """A copy of the candidate, which is the rows themselves."""
        return candidate.copy()

    def at(self, candidate: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """The rows themselves."""
        return rows

    def arrays(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Depths (B, G, N) and neighbours (B, G)."""
        return self.menu.depths[candidates], self.menu.neighbours[candidates]

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Our own draw: log-normal shares."""
        return self._ordered(draw_rows(self.ladder, self.allowance, rng), rng)

    def settled(
        self, candidate: np.ndarray, rng: np.random.Generator, *, top_up: bool = True
    ) -> np.ndarray:
        """The candidate, repaired and topped up, its rows in order where they must fall."""
        return self._ordered(super().settled(candidate, rng, top_up=top_up), rng)

    def _ordered(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The rows by falling bytes where they must fall; what no longer fits is repaired."""
        if not self.falling:
            return rows
        price = self.ladder.costs[0, rows]
        if (np.diff(price) <= 0).all():
            return rows
        rows = self.ladder.raised(rows[np.argsort(-price, kind="stable")])
        # Groups differ by an item at most, so moving a row may still cost some bytes more.
        self.ladder.repair(rows, self.allowance - int(self.ladder.cost(rows).sum()), rng)
        return rows

    def reselected(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """Another row at random among those that the group's and the unspent bytes pay for."""
        left = self.allowance - int(self.ladder.cost(candidate).sum())
        prices = self.ladder.costs[group]
        payable = prices <= prices[candidate[group]] + left
        others = np.flatnonzero(payable & self.ladder.allowed[group])
        others = others[others != candidate[group]]
        child = candidate.copy()
        if len(others):
            child[group] = others[pick(rng, len(others))]
        return child

    def alike(self) -> np.ndarray:
        """The rows that fit in every group at once, less those contained in another such row."""
        fits = self.ladder.costs.sum(axis=0) <= self.allowance  # (R,)
        fits &= self.ladder.allowed.all(axis=0)
        largest: np.ndarray = np.flatnonzero(fits & ~(self.ladder.up_steps & fits).any(axis=1))
        if not len(largest):
            return self.least()
        return np.repeat(largest[:, None], self.n_groups, axis=1)

    def least(self) -> np.ndarray:
        """The cheapest row of each group."""
        return self.ladder.cheapest[None].copy()

    def steps(self, candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every group's every affordable step up.

        Of rows that must fall, a step beyond a more popular group's row takes that group along to
        the same row, where it contains what the group has.
        """
        left = self.allowance - int(self.ladder.cost(candidate).sum())
        moves = [
            (g, up)
            for g in self.ladder.can_rise(candidate, left).tolist()
            for up in self.ladder.ups[candidate[g]]
        ]
        groups, ups = np.array(moves, dtype=np.int64).reshape(-1, 2).T
        children = np.repeat(candidate[None], len(groups), axis=0)
        children[np.arange(len(groups)), groups] = ups
        if self.falling:
            children = self._levelled(candidate, children, groups, ups)
        every = self.ladder.costs[np.arange(self.n_groups), children].sum(axis=1)
        prices = every - int(self.ladder.cost(candidate).sum())
        return children[prices <= left], prices[prices <= left]

    def _levelled(
        self, candidate: np.ndarray, children: np.ndarray, groups: np.ndarray, ups: np.ndarray
    ) -> np.ndarray:
        """The steps whose rows fall once more popular groups, if cheaper, took them as well."""
        price = self.ladder.costs[0]  # (R,)
        before = np.arange(self.n_groups) < groups[:, None]
        children = np.where(
            before & (price[children] < price[ups][:, None]), ups[:, None], children
        )
        rises = self.ladder.contained[candidate, children].all(axis=1)
        falls = (np.diff(price[children], axis=1) <= 0).all(axis=1)
        levelled: np.ndarray = children[rises & falls]
        return levelled

    def everything(self) -> np.ndarray:
        """The dearest row of each group."""
        return self.ladder.dearest.copy()

    def topped_in_order(self, candidate: np.ndarray) -> np.ndarray:
        """Cheapest steps to the groups in turn, the popular first, until none fits."""
        rows = candidate.copy()
        self.ladder.top_up_in_order(rows, self.allowance - int(self.ladder.cost(rows).sum()))
        return rows

    def topped_evenly(self, candidate: np.ndarray) -> np.ndarray:
        """Cheapest steps to the group with the fewest bytes per item, until none fits."""
        rows = candidate.copy()
        left = self.allowance - int(self.ladder.cost(rows).sum())
        self.ladder.top_up_evenly(rows, left, self.accounting.group_sizes)
        return rows

    def of(self, composition: Composition) -> np.ndarray:
        """The menu's rows behind a composition."""
        return self.menu.choice_of(composition)
