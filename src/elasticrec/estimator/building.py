"""From a model folder to its estimator: measure compositions, fit, judge, save."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.data.interactions import fingerprint
from elasticrec.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.estimator.draws import Draws, held_out_budgets
from elasticrec.estimator.ledger import Ledger
from elasticrec.estimator.samples import collect
from elasticrec.space.budget import PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space.energy import energy_order
from elasticrec.space.regroup import SpaceConfig, load_groups, space_of

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.blocks.table import BlockTable
    from elasticrec.estimator.model import Estimator
    from elasticrec.estimator.training import Agreement, Fitted
    from elasticrec.evaluation.compositions import Evaluator
    from elasticrec.evaluation.questions import Questions
    from elasticrec.space.groups import Groups

log = logging.getLogger(__name__)

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


@dataclass(frozen=True, eq=False)
class MakeEvaluator:
    """Makes evaluators of one model, in any process: of its menu, or plain where there is none."""

    table: BlockTable
    """Only its items are used where `vectors` stand for the users."""
    bounds: np.ndarray
    """(G + 1,) where each group starts."""
    vectors: np.ndarray
    """(μ, D) the users' vectors."""
    asked: Questions
    """What each user has seen and should be shown."""
    menu: Menu | None
    """The rows that compositions are made of; None for free blocks."""
    metric: str
    """Such as `recall@100`."""
    width_correction: bool
    """Whether scores are divided by |B_g|, as in Eq. 2."""
    device: str = "cpu"
    """Where the plain evaluator computes."""
    threads: int = 1
    """How many threads prepare a menu's counts."""

    def __call__(self) -> Evaluator:
        """A new evaluator."""
        from elasticrec.evaluation.compositions import PlainEvaluator
        from elasticrec.evaluation.merging import MenuEvaluator
        from elasticrec.evaluation.rows import BlockScores

        scores = BlockScores(
            self.table.blocks,
            self.vectors,
            self.bounds,
            score=self.table.score,
            width_correction=self.width_correction,
            device="cpu" if self.menu is not None else self.device,
        )
        if self.menu is None:
            return PlainEvaluator(scores, self.asked, self.metric)
        return MenuEvaluator(scores, self.asked, self.menu, self.metric, threads=self.threads)


def build_estimator(
    folder: ModelFolder,
    samples: SamplesConfig,
    fitting: EstimatorConfig,
    *,
    workers: int = 1,
    device: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Built:
    """The estimator of a model folder, after saving it there.

    Args:
        samples: what is measured; measurements go to the folder's ledger, and those found there
            are not repeated.
        fitting: what is fitted.
        workers: processes that measure free blocks on a CPU, or threads that prepare a menu.
        device: `auto`, `cpu` or `cuda`.
        progress: called with how many draws were just finished, and how many there are in all.
    """
    from elasticrec.estimator.training import fit, within_budgets
    from elasticrec.evaluation.compositions import validation_questions
    from elasticrec.evaluation.ranking import pick_device

    where = pick_device(device)
    split, table, groups, space = (
        folder.split(),
        folder.table(),
        load_groups(folder),
        space_of(folder),
    )
    asked = validation_questions(split, samples.n_users, np.random.default_rng(samples.seed))
    draws = draws_of(table, groups, space, samples)
    make = MakeEvaluator(
        replace(table, users=None),
        groups.bounds,
        table.fold_in(asked.seen) if table.users is None else table.users[asked.users],
        asked,
        draws.menu,
        samples.metric,
        width_correction=space.as_printed,
        device=where,
        threads=workers,
    )
    numbers = [range(samples.n_samples)]
    budgets = draws.held_out if samples.n_held_out else ()
    numbers += [draws.held_out_numbers(b, samples.n_held_out) for b in range(len(budgets))]
    total = sum(map(len, numbers))
    started = time.perf_counter()
    with Ledger(folder.root / LEDGER, _fingerprint(folder, asked, draws, samples)) as ledger:
        collect(
            ledger,
            [i for some in numbers for i in some],
            draws,
            make,
            workers=1 if where == "cuda" or draws.menu is not None else workers,
            progress=None if progress is None else lambda n: progress(n, total),
        )
        measured = [ledger.samples(some) for some in numbers]
    measuring = time.perf_counter() - started
    fitted = fit(measured[0], fitting, device=where)
    held_out = {str(b): s for b, s in zip(budgets, measured[1:], strict=True)}
    within = within_budgets(fitted.estimator, held_out)
    built = Built(fitted, within, measuring, time.perf_counter() - started - measuring)
    return _saved(folder, built, samples)


def draws_of(
    table: BlockTable, groups: Groups, space: SpaceConfig, samples: SamplesConfig
) -> Draws:
    """The draws of a model: rows of its menu, or free blocks where its space says so."""
    draws = Draws(
        PaperAccounting(groups.sizes, table.n_blocks, table.block_size),
        groups.n_groups,
        table.n_blocks,
        None if space.free else Menu.f32_prefixes(energy_order(table)),
        space.as_printed,
        (),
        samples.seed,
    )
    return replace(draws, held_out=held_out_budgets(samples.held_out, groups.n_items, draws.ladder))


def _fingerprint(
    folder: ModelFolder, asked: Questions, draws: Draws, samples: SamplesConfig
) -> dict[str, Any]:
    """All that a measurement depends on; the test part is not among it."""
    users = fingerprint(
        {
            "users": asked.users,
            "seen": asked.seen.items,
            "seen_indptr": asked.seen.indptr,
            "relevant": asked.relevant.items,
            "relevant_indptr": asked.relevant.indptr,
        }
    )
    return {
        "model": folder.model_id,
        "users": users,
        "metric": samples.metric,
        "masks": "free" if draws.menu is None else draws.menu.fingerprint(),
        "printed": draws.printed,
        "held_out": [budget.n_bytes for budget in draws.held_out],
        "seed": samples.seed,
    }


def _saved(folder: ModelFolder, built: Built, samples: SamplesConfig) -> Built:
    """The same with facts kept beside the estimator, after writing it and recording it."""
    about = {
        **built.estimator.about,
        **asdict(samples),
        "within": {name: asdict(found) for name, found in built.within.items()},
    }
    estimator = replace(built.estimator, about=about)
    estimator.save(folder.path("estimator"))
    folder.record("estimator", estimator.fingerprint(), ("split", "table", "groups"))
    return replace(built, fitted=replace(built.fitted, estimator=estimator))
