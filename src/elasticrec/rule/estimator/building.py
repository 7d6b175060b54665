"""From a model folder to its estimator: measure compositions, fit, judge, save."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.estimator.draws import FOUND, Draws
from elasticrec.rule.estimator.ledger import Ledger, Samples
from elasticrec.rule.estimator.measuring import Measuring, draws_of, measuring_of
from elasticrec.rule.estimator.samples import collect
from elasticrec.space.regroup import load_groups
from elasticrec.storing import is_stored

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.rule.estimator.model import Estimator
    from elasticrec.rule.estimator.training import Agreement, Fitted
    from elasticrec.rule.randomizer import Drawn

__all__ = ["LEDGER", "Built", "build_estimator", "draws_of"]

LEDGER = "estimator.jsonl"
"""The ledger's name in a model folder."""
Follow = Callable[["Estimator", Draws, int], "Drawn"]
"""So many compositions that searches by an estimator look at."""


@dataclass(frozen=True)
class Built:
    """An estimator just made, and how good it is."""

    fitted: Fitted
    """The estimator and its two-fold check."""
    within: dict[str, Agreement]
    """How estimates agree with held-out measurements within each budget, by the budget's name."""
    measuring_seconds: float
    """Time taken by draws that the ledger did not hold yet."""
    fitting_seconds: float
    """Time taken by the two-fold check and the fit."""

    @property
    def estimator(self) -> Estimator:
        """What was saved."""
        return self.fitted.estimator


def build_estimator(
    folder: ModelFolder,
    samples: SamplesConfig,
    fitting: EstimatorConfig,
    *,
    accounting: str | None = None,
    person: str | None = None,
    workers: int = 1,
    device: str = "auto",
    progress: Callable[[int, int], None] | None = None,
    follow: Follow | None = None,
) -> Built:
    """The estimator of a model folder, after saving it there.

    Args:
        samples: what is measured; measurements go to the folder's ledger, and those found there
            are not repeated.
        fitting: what is fitted.
        accounting: `file` for compositions of a coded model, `paper` for whole blocks; by default
            `file` where the folder has codes.
        person: whom a coded model is measured for, `vector+history` or `history`; by default its
            own kind.
        workers: processes that measure free blocks on a CPU, or threads that prepare a menu.
        device: `auto`, `cpu` or `cuda`.
        progress: called with how many draws were just finished, and how many there are in all.
        follow: gives the `n_found` compositions on which, too, the estimator is fitted again; only
            for compositions of a menu. `search.estimating` knows one.
    """
    from elasticrec.rule.estimator.training import fit, within_budgets
    from elasticrec.evaluation.ranking import pick_device

    where = pick_device(device)
    measuring = measuring_of(
        folder,
        samples,
        accounting=accounting or ("file" if is_stored(folder) else "paper"),
        person=person,
        device=where,
        threads=workers,
    )
    draws = measuring.draws
    numbers = [range(samples.n_samples)]
    budgets = draws.held_out if samples.n_held_out else ()
    numbers += [draws.held_out_numbers(b, samples.n_held_out) for b in range(len(budgets))]
    n_found = samples.n_found if follow is not None and draws.menu is not None else 0
    total = sum(map(len, numbers)) + n_found
    make = cache(measuring.make) if measuring.one_process else measuring.make
    tell = None if progress is None else lambda n: progress(n, total)
    started = time.perf_counter()
    with Ledger(folder.root / LEDGER, measuring.fingerprint) as ledger:
        collect(
            ledger,
            [i for some in numbers for i in some],
            draws,
            make,
            workers=1 if where == "cuda" or measuring.one_process else workers,
            progress=tell,
        )
        measured = [ledger.samples(some) for some in numbers]
        seconds = time.perf_counter() - started
        if load_groups(folder).kind == "cluster":
            fitting = replace(fitting, smooth=0)  # clusters have no order that means anything
        fitted = fit(measured[0], fitting, device=where)
        if n_found:
            assert follow is not None
            looked_at = _in_order(follow(fitted.estimator, draws, n_found))
            found = collect(ledger, range(FOUND, FOUND + n_found), looked_at, make, progress=tell)
            fitted = _fitted_again(fitted, _together(measured[0], found), fitting, where)
    held_out = {str(b): s for b, s in zip(budgets, measured[1:], strict=True)}
    within = within_budgets(fitted.estimator, held_out)
    built = Built(fitted, within, seconds, time.perf_counter() - started - seconds)
    return _saved(folder, built, samples, measuring)


def _in_order(drawn: Drawn) -> Callable[[Sequence[int]], Drawn]:
    """What gives some of these compositions by number, the first of them by FOUND."""

    def some(numbers: Sequence[int]) -> Drawn:
        at = np.asarray(numbers, dtype=np.int64) - FOUND
        return replace(
            drawn, depths=drawn.depths[at], neighbours=drawn.neighbours[at], totals=drawn.totals[at]
        )

    return some


def _together(first: Samples, second: Samples) -> Samples:
    """All samples of both."""
    return Samples(
        np.concatenate([first.depths, second.depths]),
        np.concatenate([first.neighbours, second.neighbours]),
        np.concatenate([first.values, second.values]),
    )


def _fitted_again(first: Fitted, samples: Samples, config: EstimatorConfig, device: str) -> Fitted:
    """What the same candidate gives when it is fitted on more samples."""
    from elasticrec.rule.estimator.training import fit

    chosen = first.chosen.settings
    only = replace(
        config, widths=(chosen.width,), learning_rates=(chosen.learning_rate,), l2s=(chosen.l2,)
    )
    second = fit(samples, only, device=device)
    about = {**second.estimator.about, "config": asdict(config)}
    return replace(
        second,
        estimator=replace(second.estimator, about=about),
        trials=(*first.trials, *second.trials),
    )


def _saved(
    folder: ModelFolder, built: Built, samples: SamplesConfig, measuring: Measuring
) -> Built:
    """The same with facts kept beside the estimator, after writing it and recording it."""
    about = {
        **built.estimator.about,
        **asdict(samples),
        **measuring.about,
        "within": {name: asdict(found) for name, found in built.within.items()},
    }
    estimator = replace(built.estimator, about=about)
    estimator.save(folder.path("estimator"))
    folder.record("estimator", estimator.fingerprint(), measuring.made_from)
    return replace(built, fitted=replace(built.fitted, estimator=estimator))
