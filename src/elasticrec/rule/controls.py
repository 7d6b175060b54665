"""Controls: what a search must beat, through the same interface.

`uniform` treats all groups alike as far as whole rows go. Exactly alike would leave up to a step of
every group unspent (two fifths of a 5 MB budget in the paper's setting), so, to be a control worth
beating, it gives the rest to the groups in their order: one step each, the popular ones first.

A climb does not end where the estimate no longer rises. Beyond that point one step seems as good as
another, so what is left, if it is much, is spent evenly: always on the group with the fewest bytes
per item. Rare items gain most by it, of which people take more next month than validation knows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elasticrec.rule.config import CHANCE, FLAT, REST, SearchConfig
from elasticrec.rule.problem import Found, Problem, Record

Control = Callable[[Problem, SearchConfig, np.random.Generator], Found]
"""A way to answer a problem."""


def uniform(problem: Problem, config: SearchConfig, rng: np.random.Generator) -> Found:  # noqa: ARG001
    """The same row for all groups, the largest that fits, and the rest in the groups' order.

    Where several rows are largest, none containing another, the best estimate decides.
    """
    record, space = Record(problem), problem.candidates
    if space.is_full:
        return record.everything("uniform")
    alike = np.array([space.topped_in_order(candidate) for candidate in space.alike()])
    estimates = problem.estimates(alike)
    for candidate, estimate in zip(alike, estimates.tolist(), strict=True):
        record.add(candidate, -1, "uniform", estimate)
    return record.found("uniform", int(estimates.argmax()))


def best_of_random(problem: Problem, config: SearchConfig, rng: np.random.Generator) -> Found:
    """The best estimate among as many random candidates as the search looks at."""
    record, space = Record(problem), problem.candidates
    if space.is_full:
        return record.everything("best-of-random")
    drawn = np.array([space.random(rng) for _ in range(config.n_candidates)])
    estimates = problem.estimates(drawn)
    for candidate, estimate in zip(drawn, estimates.tolist(), strict=True):
        record.add(candidate, -1, "random", estimate)
    return record.found("best-of-random", int(estimates.argmax()))


def greedy(problem: Problem, config: SearchConfig, rng: np.random.Generator) -> Found:  # noqa: ARG001
    """The end of a climb that always takes the most estimated gain per byte."""
    return _climb(problem, "greedy", measure=False)


def greedy_measured(problem: Problem, config: SearchConfig, rng: np.random.Generator) -> Found:  # noqa: ARG001
    """The end of a climb that always takes the most measured gain per byte."""
    return _climb(problem, "greedy-measured", measure=True)


def _climb(problem: Problem, method: str, *, measure: bool) -> Found:
    """From the cheapest up as long as that pays, then evenly until nothing fits.

    Where that seems worse, the last candidate of the climb that is as good as its best one.
    """
    record, space = Record(problem), problem.candidates
    if space.is_full:
        return record.everything(method)
    quality = problem.measures if measure else problem.estimates
    starts = space.least()
    values = quality(starts)
    now, parent = starts[values.argmax()], -1
    qualities = [float(values.max())]
    while True:
        parent = record.add(now, parent, "step", np.nan if measure else qualities[-1])
        if measure:
            record.measured[parent] = qualities[-1]
        children, prices = space.steps(now)
        if not len(children):
            break
        values = quality(children)
        taken = int(((values - qualities[-1]) / np.maximum(prices, 1)).argmax())
        now = children[taken]
        qualities.append(float(values[taken]))
    best = max(qualities)
    last = int(_numbers(qualities, best - CHANCE * abs(best))[-1])
    paid = int(_numbers(qualities, best - FLAT * abs(best))[0])
    much = space.n_bytes(record.candidates[paid]) <= (1 - REST) * space.budget.n_bytes
    if not (space.topped and much):
        return record.found(method, last)
    spent = space.topped_evenly(record.candidates[paid])
    value = float(quality(spent[None])[0])
    if value < best - CHANCE * abs(best):
        return record.found(method, last)
    number = record.add(spent, paid, "evenly", np.nan if measure else value)
    if measure:
        record.measured[number] = value
    return record.found(method, number)


def _numbers(qualities: list[float], least: float) -> np.ndarray:
    """The numbers of those that have a quality, in order."""
    return np.flatnonzero(np.array(qualities) >= least)


CONTROLS: dict[str, Control] = {
    "uniform": uniform,
    "best-of-random": best_of_random,
    "greedy": greedy,
    "greedy-measured": greedy_measured,
}
"""All controls by name."""
