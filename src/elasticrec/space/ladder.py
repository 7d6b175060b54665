"""Ladder: the rows each group may have, what they cost, and the steps between them.

Randomizer, search and controls all spend bytes through it, so none of them can exceed a budget.
"""

from __future__ import annotations

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import Menu

NEVER = np.iinfo(np.int64).max // 2
"""The price of a step that does not exist."""


class Ladder:
    """Rows, their bytes in each group, and the steps between rows.

    A step up leads to a row that contains the present one, with no third row between them; a step
    down is its reverse. A choice is one row number per group: (G,) int64.
    """

    def __init__(
        self,
        menu: Menu,
        costs: np.ndarray,
        *,
        fixed_bytes: int = 0,
        floor: np.ndarray | None = None,
    ) -> None:
        """A ladder over the rows of a menu.

        Args:
            costs: (G, R) int64 bytes of each group under each row.
            fixed_bytes: what is spent whatever the rows are.
            floor: (G,) a row that each group must contain; None where any will do.
        """
        self.menu = menu
        self.costs: np.ndarray = np.asarray(costs, dtype=np.int64)
        costs = self.costs
        self.fixed_bytes = fixed_bytes
        self._groups = np.arange(len(self.costs))
        self.contained = contained = menu.contained()
        """(R, R) whether row r is part of row s."""
        below = contained & ~np.eye(menu.n_rows, dtype=bool)
        steps = below & ~(below @ below)
        self.up_steps = steps
        self.ups: list[list[int]] = [np.flatnonzero(row).tolist() for row in steps]
        """For each row, the rows one step above it."""
        self.downs: list[list[int]] = [np.flatnonzero(column).tolist() for column in steps.T]
        """For each row, the rows one step below it."""
        prices = np.where(steps[None], costs[:, None, :] - costs[:, :, None], NEVER)  # (G, R, R)
        if prices.min() < 0:
            raise ValueError("a row of the menu costs less than a row that it contains")
        self.prices = prices.min(axis=2)
        """(G, R) bytes of the cheapest step up, `NEVER` at the top."""
        self._costs: list[list[int]] = costs.tolist()
        self._prices: list[list[int]] = self.prices.tolist()
        leaves: np.ndarray = np.array([not below for below in self.downs])
        self.allowed: np.ndarray = np.ones(costs.shape, bool) if floor is None else contained[floor]
        """(G, R) the rows that each group may have."""
        self.has_floor = floor is not None
        self._allowed: list[list[bool]] = self.allowed.tolist()
        self.cheapest: np.ndarray = (
            np.where(leaves, costs, NEVER).argmin(axis=1) if floor is None else floor
        )
        """(G,) the least row of each group."""
        within = np.where(self.allowed, costs, -1)
        self.dearest: np.ndarray = costs.shape[1] - 1 - within[:, ::-1].argmax(axis=1)
        """(G,) the most that each group can keep."""
        self._falls = ~leaves[None] | (costs > self.cost(self.cheapest)[:, None])  # (G, R)
        self._falls[self._groups, self.cheapest] = False

    @classmethod
    def of(cls, menu: Menu, accounting: Accounting, *, floor: np.ndarray | None = None) -> Ladder:
        """The ladder of a menu's rows at what an accounting charges for them."""
        if accounting.needs_block and not menu.depths.any(axis=1).all():
            row = int(menu.depths.any(axis=1).argmin())
            raise InputError(f"row {row} of the menu keeps no block; this accounting demands one")
        costs = accounting.row_table(menu.depths, menu.neighbours)
        return cls(menu, costs, fixed_bytes=accounting.fixed_bytes, floor=floor)

    @classmethod
    def of_counts(cls, n_blocks: int, accounting: Accounting) -> Ladder:
        """The ladder of how many blocks a group keeps whole; which ones does not change the bytes.

        Its first row is one block, or none where the accounting allows that.
        """
        widths = Menu.f32_prefixes(np.arange(n_blocks), include_empty=not accounting.needs_block)
        return cls.of(widths, accounting)

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.costs)

    @property
    def smallest_bytes(self) -> int:
        """What the cheapest rows of all groups cost."""
        return self.fixed_bytes + int(self.cost(self.cheapest).sum())

    @property
    def full_bytes(self) -> int:
        """What the dearest rows of all groups cost."""
        return self.fixed_bytes + int(self.cost(self.dearest).sum())

    def allowance(self, budget: Budget) -> int:
        """The bytes that rows may take; a budget that cannot hold the cheapest rows is refused."""
        if budget.n_bytes < self.smallest_bytes:
            least = Budget(self.smallest_bytes)
            raise InputError(
                f"a budget of {budget} is too small: the smallest possible is {least} "
                f"({least.n_bytes} bytes)"
            )
        return budget.n_bytes - self.fixed_bytes

    def cost(self, choice: np.ndarray) -> np.ndarray:
        """(G,) bytes of each group under a choice, without the fixed part."""
        chosen: np.ndarray = self.costs[self._groups, choice]
        return chosen

    def step_down(self, choice: np.ndarray, group: int, rng: np.random.Generator) -> int:
        """Take one step down from a group that can fall; the bytes it frees."""
        row = int(choice[group])
        below = [lower for lower in self.downs[row] if self._allowed[group][lower]]
        # A row with nothing below it may still not be the cheapest one: then fall to that.
        lower = below[pick(rng, len(below))] if below else int(self.cheapest[group])
        choice[group] = lower
        return self._costs[group][row] - self._costs[group][lower]

    def step_up(self, choice: np.ndarray, group: int, left: int, rng: np.random.Generator) -> int:
        """Take a step up, at random among those that `left` bytes pay for; the bytes it takes."""
        row, costs = int(choice[group]), self._costs[group]
        paid = [above for above in self.ups[row] if costs[above] - costs[row] <= left]
        choice[group] = above = paid[pick(rng, len(paid))]
        return costs[above] - costs[row]

    def falls(self, choice: np.ndarray, group: int) -> bool:
        """Whether one group can take a step down."""
        return bool(self._falls[group, choice[group]])

    def can_fall(self, choice: np.ndarray) -> np.ndarray:
        """The groups that can take a step down."""
        return np.flatnonzero(self._falls[self._groups, choice])

    def can_rise(self, choice: np.ndarray, left: int) -> np.ndarray:
        """The groups that can take a step up within some bytes."""
        return np.flatnonzero(self.prices[self._groups, choice] <= left)

    def raised(self, choice: np.ndarray) -> np.ndarray:
        """The choice, with its least row for each group whose row is not allowed."""
        if not self.has_floor:
            return choice
        raised: np.ndarray = np.where(self.allowed[self._groups, choice], choice, self.cheapest)
        return raised

    def repair(self, choice: np.ndarray, left: int, rng: np.random.Generator) -> int:
        """Step down in random groups until nothing is overspent (Alg. 1, l. 8); the bytes left.

        Args:
            left: allowance less the cost of the choice; negative if it is over budget.
        """
        while left < 0:
            groups = self.can_fall(choice)
            left += self.step_down(choice, int(groups[pick(rng, len(groups))]), rng)
        return left

    def top_up(self, choice: np.ndarray, left: int, rng: np.random.Generator) -> int:
        """Step up in random groups until no step fits: ours, not in Alg. 1; the bytes left."""
        prices = self.prices[self._groups, choice].tolist()  # lists: far faster one by one
        while groups := [g for g, price in enumerate(prices) if price <= left]:
            group = groups[pick(rng, len(groups))]
            left -= self.step_up(choice, group, left, rng)
            prices[group] = self._prices[group][choice[group]]
        return left

    def top_up_towards(
        self, choice: np.ndarray, left: int, wanted: np.ndarray, rng: np.random.Generator
    ) -> int:
        """Step up in the group that lacks most until no step fits; the bytes left.

        Args:
            wanted: (G,) bytes that each group should have.
        """
        lacking = (wanted - self.cost(choice)).tolist()
        prices = self.prices[self._groups, choice].tolist()
        while groups := [g for g, price in enumerate(prices) if price <= left]:
            group = max(groups, key=lacking.__getitem__)
            taken = self.step_up(choice, group, left, rng)
            left -= taken
            lacking[group] -= taken
            prices[group] = self._prices[group][choice[group]]
        return left

    def top_up_in_order(self, choice: np.ndarray, left: int) -> int:
        """Give each group in turn its cheapest step, in rounds, until none fits; the bytes left."""
        while len(groups := self.can_rise(choice, left)):
            for group in groups.tolist():
                row = int(choice[group])
                price = int(self.prices[group, row])
                if price <= left:
                    above = self.ups[row]
                    choice[group] = above[self.costs[group, above].argmin()]
                    left -= price
        return left

    def top_up_evenly(self, choice: np.ndarray, left: int, sizes: np.ndarray) -> int:
        """Give the group with the fewest bytes per item its cheapest step; the bytes left.

        Args:
            sizes: (G,) items per group; of groups that have as much, the first one is next.
        """
        while len(groups := self.can_rise(choice, left)):
            group = int(groups[(self.cost(choice)[groups] / sizes[groups]).argmin()])
            row = int(choice[group])
            above = self.ups[row]
            choice[group] = above[self.costs[group, above].argmin()]
            left -= int(self.prices[group, row])
        return left


def pick(rng: np.random.Generator, n: int) -> int:
    """A number from 0 to n - 1, uniformly; several times faster than `rng.integers` for one."""
    return int(rng.random() * n)
