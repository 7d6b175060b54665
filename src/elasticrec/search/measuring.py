"""Real quality of compositions of a model folder, for refining, controls and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from elasticrec.search.problem import Quality
from elasticrec.search.searcher import Searcher

if TYPE_CHECKING:
    from elasticrec.evaluation.questions import Questions

USERS = 1000
"""μ: validation users on whom compositions are measured, unless the estimator says otherwise."""


def validation_quality(searcher: Searcher, *, many: bool = False, device: str = "auto") -> Quality:
    """Measured quality on the validation users and by the metric that the estimator learned from.

    Args:
        many: count once for thousands of compositions from the menu; otherwise rank each plainly.
    """
    from elasticrec.evaluation.compositions import validation_questions

    about = searcher.estimator.about
    rng = np.random.default_rng(about.get("seed", 0))
    asked = validation_questions(searcher.folder.split(), about.get("n_users", USERS), rng)
    return _quality(searcher, asked, many=many and not searcher.space.free, device=device)


def held_out_quality(
    searcher: Searcher,
    part: Literal["validation", "test"] = "test",
    *,
    device: str = "auto",
) -> Quality:
    """Measured quality on everyone with held-out items in a part, by the estimator's metric."""
    from elasticrec.evaluation.questions import questions

    return _quality(searcher, questions(searcher.folder.split(), part), many=False, device=device)


def _quality(searcher: Searcher, asked: Questions, *, many: bool, device: str) -> Quality:
    """An evaluator of these users, made by the evaluation stage; imports torch."""
    from elasticrec.evaluation.compositions import PlainEvaluator
    from elasticrec.evaluation.merging import MenuEvaluator
    from elasticrec.evaluation.rows import BlockScores

    folder = searcher.folder
    scores = BlockScores.of_table(
        folder.table(),
        searcher.groups.bounds,
        asked.users,
        folder.split().train,
        width_correction=searcher.space.as_printed,
        device=device,
    )
    if many:
        return MenuEvaluator(scores, asked, searcher.menu, searcher.metric).evaluate
    return PlainEvaluator(scores, asked, searcher.metric).evaluate
