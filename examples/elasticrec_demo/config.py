"""DemoConfig: what a demo shows, checked before anything takes long."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elasticrec.stream.ids import id_section, storable
from elasticrec.compression.neighbours import longest_list
from elasticrec.compression.signs import BLOCK
from elasticrec.compression.words import word_lists
from elasticrec.errors import InputError
from elasticrec.data.split import Split
from elasticrec.presets import Preset, preset
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import DEEPEST, Menu
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.groups import even_sizes
from elasticrec.space.ladder import Ladder

LEAST_PER_ITEM = 4
"""Bytes per item from which budgets of bundles are spread."""


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

    @property
    def packs(self) -> bool:
        """Whether the demo ends with bundles: not in the paper's setting, which has none."""
        train, space = self.settings.train, self.settings.space
        return train.score == "aligned" and train.block_size == BLOCK and not space.free

    def budgets_of(self, split: Split) -> tuple[Budget, ...]:
        """The budgets, ascending; one in which no model of this split fits is refused."""
        chosen = self.settings
        N, d = chosen.train.n_blocks, chosen.train.block_size
        sizes = even_sizes(split.n_items, chosen.space.n_groups)
        if self.packs:
            most = longest_list(split.n_items)
            ends = Menu(np.outer((0, DEEPEST), np.ones(N, dtype=np.uint8)), np.array([0, most]))
            ids = len(id_section(storable(split.item_ids)))
            vector = chosen.train.base != "history"
            lists = word_lists(split.n_items, N)
            charged = FileAccounting(sizes, N, id_bytes=ids, n_lists=lists, vector=vector)
            ladder = Ladder.of(ends, charged)
        else:
            ladder = Ladder.of_counts(N, PaperAccounting(sizes, N, d))
        for budget in self.budgets:
            ladder.allowance(budget)
        least = LEAST_PER_ITEM * split.n_items if self.packs else 0
        return tuple(sorted(set(self.budgets))) or spread_budgets(ladder, least=least)

    def person_of(self, split: Split) -> int | None:
        """The number of the user to recommend to, None where none is named; refused if unknown."""
        if self.person is None:
            return None
        number = int(split.user_ids.numbers([self.person])[0])
        if number < 0:
            some = ", ".join(repr(value) for value in split.user_ids.values[:3].tolist())
            raise InputError(f"unknown user {self.person!r}; expected one such as {some}")
        return number


def spread_budgets(ladder: Ladder, n: int = 3, *, least: int = 0) -> tuple[Budget, ...]:
    """Budgets in equal ratios between the smallest possible and the full size, in round numbers.

    Args:
        least: bytes above the smallest possible size from which they are spread.
    """
    low, high = ladder.smallest_bytes + least, ladder.full_bytes
    exact = np.geomspace(low, high, n + 2)[1:-1]
    rounded = {size for size in (_round(value) for value in exact) if low <= size < high}
    return tuple(Budget(size) for size in sorted(rounded)) or (Budget(high),)


def _round(value: float) -> int:
    """The nearest number of one digit and zeros."""
    unit = 10 ** (len(str(int(value))) - 1)
    return round(value / unit) * unit
