"""Plans: the settings of every stage, of ours and of the paper's method, to be changed in parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elasticrec.presets import Preset, preset
from elasticrec.space.composition import DEEPEST, Menu

if TYPE_CHECKING:
    from elasticrec.training.table import BlockTable
    from elasticrec.training.config import TrainConfig

Rows = Literal["all", "whole", "dense"]
"""Which rows of the menu ours may keep: all, blocks of full depth alone, no neighbours."""
WIDTHS = (0, 1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1)
"""Shares of the blocks that a row of blocks of full depth keeps."""
REFINED = 20
"""Of ours, candidates re-ranked by real evaluation on validation."""
PAPERS = {"yelp2018": "paper-yelp"}
"""The paper's preset of a data set; elsewhere that of Amazon-Book."""


@dataclass(frozen=True)
class Plan:
    """The settings of every stage."""

    preset: Preset
    rows: Rows = "all"
    even: float | None = None
    """What weights of votes are fitted by: the share of validation that is spread evenly over
    groups of items; None as suits the split."""
    measured: bool = False
    """Whether the search ranks all candidates by validation, not by the estimator."""

    @property
    def coded(self) -> bool:
        """Whether items are coded and packed in files: ours; the paper keeps float32 blocks."""
        return not self.preset.space.free

    def config(self) -> dict[str, Any]:
        """What the numbers depend on, the seed aside."""
        found = asdict(self.preset)
        del found["validation_for_everyone"]
        for stage in ("train", "space", "samples", "estimator"):
            found[stage]["seed"] = 0
        return found | {"rows": self.rows}  # the others stand in the settings that a task names

    def sampled(self, n_samples: int | None) -> Plan:
        """The same plan with so many compositions to fit on, and none held out."""
        samples = replace(self.preset.samples, n_held_out=0)
        if n_samples is not None:
            found = min(samples.n_found, n_samples // 5)
            samples = replace(samples, n_samples=n_samples, n_found=found)
        return replace(self, preset=replace(self.preset, samples=samples))

    def shortened(self, steps: int) -> Plan:
        """The same plan, its estimator fitted in so many steps and its search cut, for a look."""
        fitting, search = self.preset.estimator, self.preset.search
        fitting = replace(fitting, steps=steps, max_rounds=1, l2s=fitting.l2s[:1])
        search = replace(
            search, rounds=min(steps, search.rounds), refine=min(steps // 10, search.refine)
        )
        return replace(self, preset=replace(self.preset, estimator=fitting, search=search))

    def seeded(self, seed: int) -> Plan:
        """The same plan with another seed of everything that is drawn."""
        p = self.preset
        train, space = replace(p.train, seed=seed), replace(p.space, seed=seed)
        samples = replace(p.samples, seed=seed)
        return replace(self, preset=replace(p, train=train, space=space, samples=samples))


def ours(train: TrainConfig, n_samples: int | None = None, metric: str | None = None) -> Plan:
    """Our plan: coded planes and neighbours, popularity groups, a search that is refined.

    Args:
        n_samples: β; None as the default preset says.
        metric: what weights and compositions are chosen by; None as the default preset says.
    """
    chosen = preset("default")
    search = replace(chosen.search, refine=REFINED)
    if metric is not None:
        chosen = replace(chosen, samples=replace(chosen.samples, metric=metric))
    return Plan(replace(chosen, train=train, search=search)).sampled(n_samples)


def rule(dataset: str, score: str, changes: dict[str, Any], n_samples: int | None = None) -> Plan:
    """The paper's plan for a data set; the two-fold check chooses the estimator's L2 alone.

    Args:
        score: `tiled`, as printed, or `aligned`.
        changes: fields of TrainConfig that the paper leaves open.
        n_samples: β; None as printed.
    """
    chosen = preset(PAPERS.get(dataset, "paper-amazon-book"))
    train = replace(chosen.train, **({"score": score} | changes))
    estimator = replace(chosen.estimator, learning_rates=chosen.estimator.learning_rates[:1])
    return Plan(replace(chosen, train=train, estimator=estimator)).sampled(n_samples)


def limited_menu(table: BlockTable, rows: Rows) -> Menu:
    """The rows that ours may keep of a table's items."""
    from elasticrec.space.menu import NEIGHBOURS
    from elasticrec.storing import menu_of

    menu = menu_of(table)
    if rows == "dense":
        return Menu(menu.depths[menu.neighbours == 0], menu.neighbours[menu.neighbours == 0])
    if rows == "all":
        return menu
    widths = sorted({round(share * table.n_blocks) for share in WIDTHS})
    whole = np.where(np.arange(table.n_blocks) < np.array(widths)[:, None], DEEPEST, 0)
    most = menu.neighbours.max()
    counts = np.array([count for count in NEIGHBOURS if count <= most], dtype=np.uint8)
    return Menu(np.repeat(whole, len(counts), axis=0), np.tile(counts, len(widths)))
