"""Answers: a search of several budgets, with the controls beside it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.search.config import CHANCE, SearchConfig
from elasticrec.search.controls import CONTROLS
from elasticrec.search.evolution import evolve
from elasticrec.search.problem import Found, Problem, Quality
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget

log = logging.getLogger(__name__)

NESTING = 0.005
"""The share of quality that a budget may lose by containing what the budget before it holds."""
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
    measured: bool = False,
) -> list[Answer]:
    """One answer per distinct budget, ascending; each contains the one before if it can.

    That costs at most `NESTING` of the quality found without that condition, and free blocks have
    none: there the search only starts from the composition before. Quality never falls from one
    budget to the next.

    Args:
        seed: the draws of a budget depend on it and on the budget alone.
        evaluate: measures while searching: for `refine` and for `greedy-measured`.
        report: measures what was found; None leaves that out.
        measured: rank all candidates by `evaluate`, not by the estimator, which errs by some per
            cent and is believed where it errs upwards; controls still go by the estimator. It is
            asked thousands of times, and should know many users (`search.measuring`).
    """
    answers: list[Answer] = []
    before: Found | None = None
    for budget in sorted(set(budgets)):
        problem = searcher.problem(budget, evaluate)
        rng = np.random.default_rng((seed, budget.n_bytes))
        if measured:
            found = before = _search(searcher, problem.measured(), config.measured(), rng, before)
            found = problem.estimated(found)
        else:
            found = before = _search(searcher, problem, config, rng, before)
        others = [CONTROLS[name](problem, config, rng) for name in controls]
        if report is not None:
            found, *others = (
                replace(f, measured=None).with_measure(report) for f in (found, *others)
            )
        log.info("%s: %s", budget, found.summary())
        answers.append(Answer(budget, found, tuple(others)))
    return answers


def _search(
    searcher: Searcher,
    problem: Problem,
    config: SearchConfig,
    rng: np.random.Generator,
    before: Found | None,
) -> Found:
    """The best composition of a budget; one that contains the budget before where that is as good.

    Where what was found does not, a second search looks for one that does.
    """
    starts = [before.composition] if before is not None and config.starts else []
    found = evolve(problem, config, rng, starts=starts)
    if before is None or searcher.free:
        return found
    if found.composition.contains(before.composition) and _quality(found) >= _quality(before):
        return found
    budget = problem.candidates.budget
    around = replace(problem, candidates=searcher.candidates(budget, before.composition))
    nested = evolve(around, config, rng, starts=starts)
    seconds = found.seconds + nested.seconds
    if _quality(nested) >= (1 - NESTING) * _quality(found):
        found = nested
    if (1 - CHANCE) * _quality(before) <= _quality(nested) < _quality(before):
        # What contains another is worth as much at least; the little less that it seems is chance.
        found = replace(nested, estimate=max(nested.estimate, before.estimate))
    elif _quality(found) < _quality(before):
        note = f"more than {Budget(before.n_bytes)} would not help"
        found = replace(before, note=note, trace=found.trace)
    return replace(found, seconds=seconds)


def _quality(found: Found) -> float:
    """What a composition was chosen by: its measured quality where it was measured."""
    return found.estimate if found.measured is None else found.measured
