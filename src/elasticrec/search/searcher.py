"""Searcher: a model folder ready to answer budgets. It needs numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.data.errors import InputError
from elasticrec.estimator.model import Estimator
from elasticrec.search.candidates import Candidates
from elasticrec.search.evolution import SearchConfig, evolve
from elasticrec.search.free_blocks import FreeBlocks
from elasticrec.search.menu_rows import MenuRows
from elasticrec.search.problem import Found, Problem, Quality
from elasticrec.space.budget import Accounting, Budget, PaperAccounting
from elasticrec.space.composition import Composition, Menu
from elasticrec.space.energy import energy_order
from elasticrec.space.regroup import load_groups, space_of

ACCOUNTINGS = ("paper",)
"""Ways to count bytes: `paper` counts vectors only."""


class Searcher:
    """The estimator, groups and menu of one model."""

    def __init__(self, folder: ModelFolder, *, accounting: str = "paper") -> None:
        """A searcher of the model in a folder, whose estimator must be that of this very model.

        Args:
            accounting: one of `ACCOUNTINGS`.
        """
        if accounting not in ACCOUNTINGS:
            raise InputError(f"accounting {accounting!r}, expected one of {', '.join(ACCOUNTINGS)}")
        if not folder.has("estimator"):
            raise InputError(f"{folder.root} has no estimator; `elasticrec estimate` makes it")
        folder.check("estimator")
        self.folder = folder
        self.accounting_name = accounting
        self.space = space_of(folder)
        self.groups = load_groups(folder)
        table = folder.table()
        self.order = energy_order(table)
        """(N,) blocks by falling energy."""
        self.menu = Menu.f32_prefixes(self.order)
        self.accounting: Accounting = PaperAccounting(
            self.groups.sizes, table.n_blocks, table.block_size
        )
        self.estimator = Estimator.load(folder.path("estimator"))

    @property
    def metric(self) -> str:
        """What the estimator estimates, such as `recall@100`."""
        return str(self.estimator.about.get("metric", "quality"))

    def candidates(self, budget: Budget) -> Candidates:
        """What fits in a budget: free blocks or rows of the menu, as the model's settings say."""
        if self.space.free:
            return FreeBlocks(self.order, self.accounting, budget, printed=self.space.as_printed)
        return MenuRows(self.menu, self.accounting, budget)

    def problem(self, budget: Budget, evaluate: Quality | None = None) -> Problem:
        """The problem of one budget, by the model's own estimator."""
        return Problem(self.candidates(budget), self.estimator.predict, evaluate)

    def search(
        self,
        budget: Budget,
        config: SearchConfig,
        rng: np.random.Generator,
        *,
        starts: Sequence[Composition] = (),
    ) -> Found:
        """The best composition found within a budget."""
        return evolve(self.problem(budget), config, rng, starts=starts)

    def about(self, found: Found, budget: Budget, **settings: Any) -> dict[str, Any]:
        """What is kept beside a saved composition, so that it can be shown without its model.

        Args:
            settings: plain facts to keep as well, such as the seed.
        """
        rows = found.composition
        table = self.accounting.row_table(rows.depths, rows.neighbours)  # (G, G)
        return {
            "method": found.method,
            "budget_bytes": budget.n_bytes,
            "n_bytes": found.n_bytes,
            "fixed_bytes": self.accounting.fixed_bytes,
            "accounting": self.accounting_name,
            "estimate": found.estimate,
            "measured": found.measured,
            "note": found.note,
            "groups": self.groups.kind,
            "group_sizes": self.groups.sizes.tolist(),
            "group_bytes": np.diagonal(table).tolist(),
            "block_order": self.order.tolist(),
            **settings,
        }
