"""FreeBlocks: candidates that let each group keep any subset of its blocks. The paper's space."""

from __future__ import annotations

import numpy as np

from elasticrec.errors import InputError
from elasticrec.rule.candidates import Candidates
from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import F32, Composition
from elasticrec.space.ladder import Ladder
from elasticrec.rule.randomizer import draw_counts, random_blocks


class FreeBlocks(Candidates):
    """Each group keeps any subset of its blocks whole: the paper's space."""

    def __init__(
        self,
        order: np.ndarray,
        accounting: Accounting,
        budget: Budget,
        *,
        printed: bool = False,
    ) -> None:
        """All masks within a budget.

        Args:
            order: (N,) block numbers by falling energy: which ones the controls keep first.
            printed: as the paper prints it, unspent bytes stay unspent.
        """
        ladder = Ladder.of_counts(len(order), accounting)
        super().__init__(ladder, accounting, budget, topped=not printed)
        self.order = order
        self._fewest = int((self.ladder.menu.depths[0] > 0).sum())

    def rows(self, candidate: np.ndarray) -> np.ndarray:
        """How many blocks each group keeps, less the fewest it may keep."""
        rows: np.ndarray = candidate.sum(axis=1) - self._fewest
        return rows

    def at(self, candidate: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Random blocks added or removed where a count changes."""
        child = candidate.copy()
        wanted = rows + self._fewest
        for g in np.flatnonzero(wanted != child.sum(axis=1)).tolist():
            more = int(wanted[g]) - int(child[g].sum())
            pool = np.flatnonzero(child[g] != (more > 0))
            child[g, rng.permutation(pool)[: abs(more)]] = more > 0
        return child

    def arrays(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Depths (B, G, N), each 0 or `F32`, and no neighbours (B, G)."""
        depths = candidates.astype(np.uint8) * np.uint8(F32)
        return depths, np.zeros(candidates.shape[:2], dtype=np.uint8)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Alg. 1."""
        rows = draw_counts(self.ladder, self.allowance, rng, printed=not self.topped)
        return random_blocks(rows + self._fewest, len(self.order), rng)

    def reselected(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """The same number of blocks, drawn anew."""
        child = candidate.copy()
        child[group] = rng.permutation(child[group])
        return child

    def _first(self, widths: np.ndarray) -> np.ndarray:
        """(n, G, N) masks that keep the first blocks of the order, (n, G) many."""
        rank = np.empty(len(self.order), dtype=np.int64)
        rank[self.order] = np.arange(len(self.order))
        masks: np.ndarray = rank < widths[..., None]
        return masks

    def alike(self) -> np.ndarray:
        """The most blocks of the order that all groups can keep."""
        width = int((self.ladder.costs.sum(axis=0) <= self.allowance).sum()) - 1 + self._fewest
        return self._first(np.full((1, self.n_groups), width))

    def least(self) -> np.ndarray:
        """The same block for every group, each block once; or nothing, where that is allowed."""
        if self._fewest == 0:
            return self._first(np.zeros((1, self.n_groups), dtype=np.int64))
        same = np.eye(len(self.order), dtype=bool)[self.order]  # (N, N)
        return np.repeat(same[:, None, :], self.n_groups, axis=1)

    def steps(self, candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every block that is missing and affordable."""
        rows = self.rows(candidate)
        left = self.allowance - int(self.ladder.cost(rows).sum())
        prices = self.ladder.prices[np.arange(self.n_groups), rows]  # (G,)
        groups, blocks = np.nonzero(~candidate & (prices <= left)[:, None])
        children = np.repeat(candidate[None], len(groups), axis=0)
        children[np.arange(len(groups)), groups, blocks] = True
        return children, prices[groups]

    def everything(self) -> np.ndarray:
        """All blocks."""
        return np.ones((self.n_groups, len(self.order)), dtype=bool)

    def topped_in_order(self, candidate: np.ndarray) -> np.ndarray:
        """The next blocks of the order to the groups in turn, the popular first."""
        rows = self.rows(candidate)
        self.ladder.top_up_in_order(rows, self.allowance - int(self.ladder.cost(rows).sum()))
        return self._widened(candidate, rows)

    def topped_evenly(self, candidate: np.ndarray) -> np.ndarray:
        """The next blocks of the order to the group with the fewest."""
        rows = self.rows(candidate)
        left = self.allowance - int(self.ladder.cost(rows).sum())
        self.ladder.top_up_evenly(rows, left, self.accounting.group_sizes)
        return self._widened(candidate, rows)

    def _widened(self, candidate: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """A copy with the next blocks of the order, as many as its new rows say."""
        child = candidate.copy()
        for g in range(self.n_groups):
            missing = self.order[~child[g, self.order]]
            child[g, missing[: int(rows[g]) + self._fewest - int(child[g].sum())]] = True
        return child

    def of(self, composition: Composition) -> np.ndarray:
        """The mask of a composition of whole blocks."""
        if np.any(composition.neighbours) or np.any(composition.depths[composition.kept] != F32):
            raise InputError("free blocks are kept whole or dropped, without neighbours")
        return composition.kept.copy()
