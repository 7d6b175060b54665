"""Real quality of compositions of a model folder, for refining, controls and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from elasticrec.data.errors import InputError
from elasticrec.search.config import SearchConfig
from elasticrec.search.problem import Quality
from elasticrec.search.searcher import Searcher

if TYPE_CHECKING:
    from elasticrec.evaluation.questions import Questions
    from elasticrec.evaluation.rows import RowScores

USERS = 1000
"""μ: validation users on whom compositions are measured, unless the estimator says otherwise."""
MEASURED_USERS = 15_000
"""Validation users, at most, on whom a search measures all its candidates.

Compositions of one budget differ by some tenths of a per cent, which 5,000 users do not tell apart:
a search that believes them finds their chance."""
MEASURED_BYTES = 8_000_000_000
"""What their counts may take of a machine's memory; where they would take more, fewer are asked."""


def validation_quality(
    searcher: Searcher, *, many: bool = False, n_users: int | None = None, device: str = "auto"
) -> Quality:
    """Measured quality on validation users, by the metric that the estimator learned from.

    Args:
        many: count once for thousands of compositions from the menu; otherwise rank each plainly.
        n_users: how many at most; by default those that the estimator learned from.
    """
    from elasticrec.evaluation.compositions import PlainEvaluator, validation_questions
    from elasticrec.evaluation.merging import MenuEvaluator
    from elasticrec.evaluation.questions import evened

    about = searcher.estimator.about
    rng = np.random.default_rng(about.get("seed", 0))
    asked = validation_questions(
        searcher.folder.split(), n_users or about.get("n_users", USERS), rng
    )
    asked = evened(asked, searcher.groups.bounds, float(about.get("even_share", 0.0)))
    scores = _scores(searcher, asked, device)
    if many and not searcher.free:
        return MenuEvaluator(scores, asked, searcher.menu, searcher.metric).evaluate
    return PlainEvaluator(scores, asked, searcher.metric).evaluate


def quality_to_search_by(
    searcher: Searcher,
    config: SearchConfig,
    *,
    measured: bool = False,
    many: bool = False,
    device: str = "auto",
) -> Quality | None:
    """What a search of a model needs to measure with; None where it needs nothing.

    Args:
        measured: whether it measures all its candidates.
        many: whether a control measures many.
    """
    if measured and searcher.free:
        raise InputError(
            f"{searcher.folder.root} keeps any subset of its blocks, each of which is ranked for "
            "anew: to measure all candidates of a search, expected rows of a menu"
        )
    if measured:
        return validation_quality(searcher, many=True, n_users=_affordable(searcher), device=device)
    if many or config.refine:
        return validation_quality(searcher, many=many, device=device)
    return None


def _affordable(searcher: Searcher) -> int:
    """How many users a measured search asks (`evaluation.merging` says what their counts take)."""
    validation = searcher.folder.split().validation
    pairs = len(validation) / max(1, int(np.count_nonzero(validation.per_user)))
    each = pairs * searcher.menu.n_rows**2 * searcher.groups.n_groups
    return max(1, min(MEASURED_USERS, int(MEASURED_BYTES / each)))


def held_out_quality(
    searcher: Searcher,
    part: Literal["validation", "test"] = "test",
    *,
    device: str = "auto",
) -> Quality:
    """Measured quality on everyone with held-out items in a part, by the estimator's metric.

    Coded compositions are measured the way a device ranks.
    """
    if searcher.accounting_name == "file":
        return _on_devices(searcher, part, device)
    from elasticrec.evaluation.compositions import PlainEvaluator
    from elasticrec.evaluation.questions import questions

    asked = questions(searcher.folder.split(), part)
    return PlainEvaluator(_scores(searcher, asked, device), asked, searcher.metric).evaluate


def _on_devices(searcher: Searcher, part: Literal["validation", "test"], device: str) -> Quality:
    """Quality of coded compositions for the estimator's kind of person."""
    from elasticrec.evaluation.device_path import measure_composition
    from elasticrec.space.composition import Composition
    from elasticrec.storing import load_coded

    model, split, metric = load_coded(searcher.folder), searcher.folder.split(), searcher.metric

    def measure(depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        found = [
            measure_composition(
                model, Composition(rows, kept), split,
                person=searcher.person, part=part, metrics=[metric], device=device,
            ).metrics[metric]
            for rows, kept in zip(depths, neighbours, strict=True)
        ]  # fmt: skip
        return np.array(found, dtype=np.float64)

    return measure


def _scores(searcher: Searcher, asked: Questions, device: str) -> RowScores:
    """Scores of some users, which depend on an item's own row alone; imports torch."""
    folder = searcher.folder
    if searcher.accounting_name == "file":
        from elasticrec.evaluation.device_path import device_scores
        from elasticrec.storing import load_coded

        return device_scores(load_coded(folder), None, asked, searcher.person, device=device)
    from elasticrec.evaluation.rows import BlockScores

    return BlockScores.of_table(
        folder.table(),
        searcher.groups.bounds,
        asked.users,
        folder.split().train,
        width_correction=searcher.space.as_printed,
        device=device,
    )
