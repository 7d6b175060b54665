"""DemoConfig: what a demo shows, checked before anything takes long."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elasticrec.data.errors import InputError
from elasticrec.data.split import Split
from elasticrec.presets import Preset, preset
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.groups import even_sizes
from elasticrec.space.ladder import Ladder


@dataclass(frozen=True)
class DemoConfig:
    """Settings of a demo."""

    source: str = "goodbooks"
    """The embedded sample, or the path of a split that `elasticrec data prepare` wrote."""
    preset: str = "demo"
    """The settings of every stage."""
    budgets: tuple[Budget, ...] = ()
    """What to fit the model to; by default three sizes between the smallest and the full one."""
    person: str | None = None
    """The id of the user to recommend to; by default `Versions.first_telling` chooses."""
    k: int = 10
    """How many items to recommend to her."""
    seed: int = 0
    """Fixes everything that is drawn."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"lists of {self.k} items, expected 1 or more")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}, expected 0 or more")
        _ = self.settings

    @property
    def settings(self) -> Preset:
        """The preset, with the seed in every stage."""
        chosen = preset(self.preset)
        return replace(
            chosen,
            train=replace(chosen.train, seed=self.seed),
            space=replace(chosen.space, seed=self.seed),
            samples=replace(chosen.samples, seed=self.seed),
            estimator=replace(chosen.estimator, seed=self.seed),
        )

    def budgets_of(self, split: Split) -> tuple[Budget, ...]:
        """The budgets, ascending; one in which no model of this split fits is refused."""
        chosen = self.settings
        N, d = chosen.train.n_blocks, chosen.train.block_size
        sizes = even_sizes(split.n_items, chosen.space.n_groups)
        ladder = Ladder.of_counts(N, PaperAccounting(sizes, N, d))
        for budget in self.budgets:
            ladder.allowance(budget)
        return tuple(sorted(set(self.budgets))) or spread_budgets(ladder)

    def person_of(self, split: Split) -> int | None:
        """The number of the user to recommend to, None where none is named; refused if unknown."""
        if self.person is None:
            return None
        number = int(split.user_ids.numbers([self.person])[0])
        if number < 0:
            some = ", ".join(repr(value) for value in split.user_ids.values[:3].tolist())
            raise InputError(f"unknown user {self.person!r}; expected one such as {some}")
        return number


def spread_budgets(ladder: Ladder, n: int = 3) -> tuple[Budget, ...]:
    """Budgets in equal ratios between the smallest possible and the full size, in round numbers."""
    low, high = ladder.smallest_bytes, ladder.full_bytes
    exact = np.geomspace(low, high, n + 2)[1:-1]
    rounded = {size for size in (_round(value) for value in exact) if low <= size < high}
    return tuple(Budget(size) for size in sorted(rounded)) or (Budget(high),)


def _round(value: float) -> int:
    """The nearest number of one digit and zeros."""
    unit = 10 ** (len(str(int(value))) - 1)
    return round(value / unit) * unit
