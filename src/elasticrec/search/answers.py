"""Answers: a search of several budgets, with the controls beside it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.search.controls import CONTROLS
from elasticrec.search.evolution import SearchConfig, evolve
from elasticrec.search.problem import Found, Quality
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.space.composition import Composition

log = logging.getLogger(__name__)

ALWAYS = ("uniform", "best-of-random", "greedy")
"""Controls that cost next to nothing."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found for one budget."""

    budget: Budget
    searched: Found
    controls: tuple[Found, ...]
    """In the order asked for."""


def answer_budgets(
    searcher: Searcher,
    budgets: Sequence[Budget],
    config: SearchConfig,
    *,
    seed: int = 0,
    controls: Sequence[str] = ALWAYS,
    evaluate: Quality | None = None,
    report: Quality | None = None,
) -> list[Answer]:
    """One answer per distinct budget, ascending; each search also starts from the one before.

    Args:
        seed: the draws of a budget depend on it and on the budget alone.
        evaluate: measures while searching: for `refine` and for `greedy-measured`.
        report: measures what was found; None leaves that out.
    """
    answers: list[Answer] = []
    before: list[Composition] = []
    for budget in sorted(set(budgets)):
        problem = searcher.problem(budget, evaluate)
        rng = np.random.default_rng((seed, budget.n_bytes))
        found = evolve(problem, config, rng, starts=before if config.starts else ())
        others = [CONTROLS[name](problem, config, rng) for name in controls]
        if report is not None:
            found, *others = (
                replace(f, measured=None).with_measure(report) for f in (found, *others)
            )
        log.info("%s: %s", budget, found.summary())
        answers.append(Answer(budget, found, tuple(others)))
        before = [found.composition]
    return answers
