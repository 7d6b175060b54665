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
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.regroup import load_groups, space_of

ACCOUNTINGS = ("paper", "file")
"""Ways to count bytes: `paper` counts f32 vectors only, `file` every byte of a bundle."""


class Searcher:
    """The estimator, groups and menu of one model."""

    def __init__(
        self,
        folder: ModelFolder,
        *,
        accounting: str | None = None,
        charged: FileAccounting | None = None,
    ) -> None:
        """A searcher of the model in a folder, whose estimator must be that of this very model.

        Args:
            accounting: one of `ACCOUNTINGS`; by default what the estimator was made for.
            charged: what bundles are charged for beside codes and neighbours, such as ids; by
                default nothing but a person's vector, where the estimator knows persons by one.
        """
        if accounting is not None and accounting not in ACCOUNTINGS:
            raise InputError(f"accounting {accounting!r}, expected one of {', '.join(ACCOUNTINGS)}")
        if not folder.has("estimator"):
            raise InputError(f"{folder.root} has no estimator; `elasticrec estimate` makes it")
        folder.check("estimator")
        self.folder = folder
        self.estimator = Estimator.load(folder.path("estimator"))
        known = str(self.estimator.about.get("accounting", "paper"))
        if accounting not in (None, known):
            raise InputError(
                f"the estimator of {folder.root} was made for accounting {known}, not {accounting};"
                f" `elasticrec estimate --accounting {accounting}` makes another"
            )
        self.accounting_name = known
        self.space = space_of(folder)
        self.groups = load_groups(folder)
        self.order: np.ndarray
        """(N,) blocks by falling energy."""
        self.menu: Menu
        self.accounting: Accounting
        if known == "file":
            self.menu = folder.load_part("menu", Menu.load)
            self.order = np.arange(self.menu.n_blocks)  # codes are in that order
            self.accounting = charged or FileAccounting(
                self.groups.sizes,
                self.menu.n_blocks,
                n_lists=int(self.estimator.about.get("n_lists", 0)),
                vector=self.person == "vector+history",
            )
        else:
            table = folder.table()
            self.order = energy_order(table)
            self.menu = Menu.f32_prefixes(self.order)
            self.accounting = PaperAccounting(self.groups.sizes, table.n_blocks, table.block_size)

    @property
    def metric(self) -> str:
        """What the estimator estimates, such as `recall@100`."""
        return str(self.estimator.about.get("metric", "quality"))

    @property
    def person(self) -> str:
        """Whom the estimator knows: `vector+history`, `history`, or `vector` without codes."""
        return str(self.estimator.about.get("person", "vector"))

    @property
    def free(self) -> bool:
        """Whether each group keeps any subset of its blocks, as in the paper."""
        return self.space.free and self.accounting_name == "paper"

    def candidates(self, budget: Budget, containing: Composition | None = None) -> Candidates:
        """What fits in a budget: free blocks or rows of the menu, as the model's settings say.

        Args:
            containing: what every candidate must contain; not for free blocks.
        """
        if self.free:
            return FreeBlocks(self.order, self.accounting, budget, printed=self.space.as_printed)
        falling = self.groups.kind == "popularity"
        return MenuRows(self.menu, self.accounting, budget, containing=containing, falling=falling)

    def problem(
        self,
        budget: Budget,
        evaluate: Quality | None = None,
        containing: Composition | None = None,
    ) -> Problem:
        """The problem of one budget, by the model's own estimator."""
        return Problem(self.candidates(budget, containing), self.estimator.predict, evaluate)

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
        group_bytes = np.diagonal(table)
        return {
            "method": found.method,
            "budget_bytes": budget.n_bytes,
            "n_bytes": found.n_bytes,
            "fixed_bytes": found.n_bytes - int(group_bytes.sum()),
            "accounting": self.accounting_name,
            "person": self.person,
            "estimate": found.estimate,
            "measured": found.measured,
            "note": found.note,
            "groups": self.groups.kind,
            "group_sizes": self.groups.sizes.tolist(),
            "group_bytes": group_bytes.tolist(),
            "block_order": self.order.tolist(),
            **settings,
        }
