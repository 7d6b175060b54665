"""From a model folder to its estimator: measure compositions, fit, judge, save."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from elasticrec.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.estimator.ledger import Ledger
from elasticrec.estimator.measuring import Measuring, draws_of, measuring_of
from elasticrec.estimator.samples import collect
from elasticrec.space.regroup import load_groups
from elasticrec.storing import is_stored

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.estimator.model import Estimator
    from elasticrec.estimator.training import Agreement, Fitted

__all__ = ["LEDGER", "Built", "build_estimator", "draws_of"]

LEDGER = "estimator.jsonl"
"""The ledger's name in a model folder."""


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
    """
    from elasticrec.estimator.training import fit, within_budgets
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
    total = sum(map(len, numbers))
    started = time.perf_counter()
    with Ledger(folder.root / LEDGER, measuring.fingerprint) as ledger:
        collect(
            ledger,
            [i for some in numbers for i in some],
            draws,
            measuring.make,
            workers=1 if where == "cuda" or measuring.one_process else workers,
            progress=None if progress is None else lambda n: progress(n, total),
        )
        measured = [ledger.samples(some) for some in numbers]
    seconds = time.perf_counter() - started
    if load_groups(folder).kind == "cluster":
        fitting = replace(fitting, smooth=0)  # clusters have no order that means anything
    fitted = fit(measured[0], fitting, device=where)
    held_out = {str(b): s for b, s in zip(budgets, measured[1:], strict=True)}
    within = within_budgets(fitted.estimator, held_out)
    built = Built(fitted, within, seconds, time.perf_counter() - started - seconds)
    return _saved(folder, built, samples, measuring)


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
