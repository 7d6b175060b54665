"""The estimator of a model, fitted a second time on what searches by the first fit look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.estimator.building import Built, build_estimator
from elasticrec.estimator.draws import Draws, budget_steps
from elasticrec.search.config import SearchConfig
from elasticrec.search.evolution import evolve
from elasticrec.search.menu_rows import MenuRows
from elasticrec.search.problem import Problem
from elasticrec.space.randomizer import Drawn
from elasticrec.space.regroup import load_groups

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.estimator.config import EstimatorConfig, SamplesConfig
    from elasticrec.estimator.model import Estimator

LOOKING = SearchConfig(rounds=100, children=10)
"""The search whose candidates are measured."""
STEPS = 12
"""Budgets at most that are searched for them."""
BEST = 0.6
"""The share of them that are the best by estimate; the others are any that it looked at."""


def estimate_model(
    folder: ModelFolder,
    samples: SamplesConfig,
    fitting: EstimatorConfig,
    *,
    accounting: str | None = None,
    person: str | None = None,
    workers: int = 1,
    device: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Built:
    """The estimator of a model folder, after saving it there; arguments as in `build_estimator`."""
    falling = load_groups(folder).kind == "popularity"
    return build_estimator(
        folder, samples, fitting,
        accounting=accounting, person=person, workers=workers, device=device, progress=progress,
        follow=partial(looked_at, falling=falling),
    )  # fmt: skip


def looked_at(estimator: Estimator, draws: Draws, n: int, *, falling: bool) -> Drawn:
    """So many compositions of a menu that searches look at, spread over the budget steps.

    Most are the best of each search by estimate: where an estimator errs upwards, it is they.

    Args:
        falling: whether rarer groups get no more than more popular ones, as in the real search.
    """
    assert draws.menu is not None, "free blocks are searched by another kind of candidates"
    steps = budget_steps(draws.ladder, draws.least)[1:-1] or budget_steps(draws.ladder)
    chosen = np.unique(np.linspace(0, len(steps) - 1, STEPS).round().astype(int)).tolist()
    rows, totals = [], []
    for place, at in enumerate(chosen):
        count = n * (place + 1) // len(chosen) - n * place // len(chosen)
        space = MenuRows(draws.menu, draws.accounting, steps[at], falling=falling)
        rng = np.random.default_rng((draws.seed, at))
        trace = evolve(Problem(space, estimator.predict), LOOKING, rng).trace
        best = trace.best(round(BEST * count))
        others = rng.integers(len(trace.candidates), size=count - len(best))
        rows.append(trace.candidates[np.concatenate([best, others])])
        totals.append(np.full(count, steps[at].n_bytes))
    kept = np.concatenate(rows)
    return Drawn(draws.menu.depths[kept], draws.menu.neighbours[kept], np.concatenate(totals), kept)
