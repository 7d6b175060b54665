"""Chosen with one training, shipped with another.

How much votes count, where neighbours come from and what each group keeps is best chosen by what
came last in train (`experiments.holdout`). But a table that was trained without that ranks worse:
it lacks what comes closest to what is asked. So a first model is trained without it and chooses,
and all that it chose is carried to a second, which is trained on the usual split.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.bundle.material import Material
from elasticrec.coding.mixing import Mixing
from elasticrec.errors import InputError
from elasticrec.space.composition import Menu
from experiments.pipeline import Ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elasticrec.data.splitting import Split
    from elasticrec.rule.problem import Found
    from elasticrec.space.budget import Budget
    from elasticrec.space.file_bytes import FileAccounting
    from elasticrec.training.loop import Trained
    from experiments.plans import Plan


class Carried(Ready):
    """A trained model that keeps what another one was found best with; it chooses nothing."""

    def __init__(self, chosen: Ready, split: Split, done: Trained, plan: Plan, place: Path) -> None:
        """Make what the folder `place` does not hold yet.

        Args:
            chosen: the model that chose, of as many items, blocks and groups.
            split: what `done` was trained on, by the plan.
        """
        self.chosen = chosen
        super().__init__(split, done, plan, place, device=chosen.device, threads=chosen.threads)

    def _code(self) -> None:
        from elasticrec.storing import StoringConfig, neighbour_source, store

        source = neighbour_source(self.chosen.folder)
        weights = self.chosen.folder.load_part("mixing", Mixing.load)
        store(self.folder, StoringConfig(neighbours=source), device=self.device, mixing=weights)

    def _estimate(self) -> None:
        """Nothing: the other one has the estimator."""

    @property
    def once_seconds(self) -> float:
        """Seconds of both models."""
        return super().once_seconds + self.chosen.once_seconds

    def found(self, budgets: Sequence[Budget]) -> list[tuple[Budget, Found, int]]:
        """What the other model found for each budget, row by row on this one's menu."""
        there, here = (each.folder.load_part("menu", Menu.load) for each in (self.chosen, self))
        out = []
        for budget, found, _ in self.chosen.found(budgets):
            composition = here.compose(there.choice_of(found.composition))
            n_bytes = self._accounting.size(composition)
            if n_bytes > budget.n_bytes:
                raise InputError(f"what was chosen takes {n_bytes:,} bytes here, beyond {budget}")
            mine = replace(found, composition=composition, n_bytes=n_bytes)
            out.append((budget, mine, n_bytes))
        return out

    @cached_property
    def _accounting(self) -> FileAccounting:
        return Material.of(self.folder).accounting(0)
