"""Evolutionary search (Alg. 2): breed candidates, let the worst leave, return the best ever seen.

Two slips of the printed form are read as they must be meant: its seeding loop keeps the `model`
just drawn, not a `child`, and a round estimates the `child`, not the `model`. The population is a
set, as printed: a child that lives already does not join, so copies of the best never fill it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from elasticrec.rule.config import STARTS, SURE, SearchConfig
from elasticrec.rule.controls import CONTROLS
from elasticrec.rule.mutation import mutate
from elasticrec.rule.problem import Found, Problem, Record
from elasticrec.space.composition import Composition

__all__ = ["SearchConfig", "evolve"]

log = logging.getLogger(__name__)

METHOD = "searched"


def evolve(
    problem: Problem,
    config: SearchConfig,
    rng: np.random.Generator,
    *,
    starts: Sequence[Composition] = (),
) -> Found:
    """The best composition that the search saw; the same for the same generator.

    Args:
        starts: further compositions for the first population, such as that of a smaller budget;
            each is repaired and topped up to this budget.
    """
    record = Record(problem)
    if problem.candidates.is_full:
        return record.everything(METHOD)
    alive = _first_population(record, config, rng, starts)
    for _ in range(config.rounds):
        _breed(record, alive, config, rng)
    best = _clearly_best(record, dict(enumerate(record.estimates)), config.margin)
    if config.refine:
        best = _refined(record, config.refine, min(config.margin, SURE))
    found = record.found(METHOD, best)
    log.info("%s after %d candidates", found.summary(), len(record.estimates))
    return found


def _first_population(
    record: Record,
    config: SearchConfig,
    rng: np.random.Generator,
    starts: Sequence[Composition],
) -> list[int]:
    """Numbers of P candidates (or as many as start, if more), estimated in one call."""
    problem, space = record.problem, record.problem.candidates
    made_by = [*config.starts, *("start" for _ in starts)]
    known = [CONTROLS[name](problem, config, rng).composition for name in config.starts]
    first = [space.of(composition) for composition in known]  # as they are: they fit
    first += [space.settled(space.of(composition), rng) for composition in starts]
    while len(first) < config.population:
        first.append(space.random(rng))
        made_by.append("random")
    estimates = problem.estimates(np.array(first)).tolist()
    return [
        record.add(candidate, -1, name, estimate)
        for candidate, name, estimate in zip(first, made_by, estimates, strict=True)
    ]


def _breed(
    record: Record, alive: list[int], config: SearchConfig, rng: np.random.Generator
) -> None:
    """One round: new children of tournament winners join, and for each of them the worst leaves."""
    space, estimates = record.problem.candidates, record.estimates
    bred: list[tuple[np.ndarray, int, str]] = []
    for _ in range(config.children):
        drawn = (rng.random(config.tournament) * len(alive)).astype(np.int64).tolist()
        parent = max((alive[i] for i in drawn), key=estimates.__getitem__)
        child, name = mutate(space, record.candidates[parent], config.mutations, rng)
        bred.append((child, parent, name))
    values = record.problem.estimates(np.array([child for child, _, _ in bred])).tolist()
    known = {record.candidates[number].tobytes() for number in alive}
    for (child, parent, name), value in zip(bred, values, strict=True):
        number = record.add(child, parent, name, value)
        if child.tobytes() not in known:
            known.add(child.tobytes())
            alive.append(number)
            alive.remove(min(alive, key=estimates.__getitem__))


def _clearly_best(
    record: Record,
    quality: Mapping[int, float],
    margin: float,
    trusted: Sequence[str] = STARTS,
) -> int:
    """The number of the best candidate; of a start, if no other leads it by the margin.

    Args:
        quality: of some candidates, by number.
        trusted: the starts that stay so.
    """
    best = max(quality, key=quality.__getitem__)
    starts = [number for number in quality if record.made_by[number] in trusted]
    if not starts:
        return best
    start = max(starts, key=quality.__getitem__)
    lead = quality[best] - quality[start]
    return best if lead > margin * abs(quality[start]) else start


def _refined(record: Record, k: int, margin: float) -> int:
    """The number of the best by measured quality among the k best by estimate and the starts.

    A greedy start went where the estimator led it, and may leave bytes unspent; only an even one
    needs no lead.
    """
    named = [
        n for n, name in enumerate(record.made_by) if record.parents[n] < 0 and name != "random"
    ]
    numbers = list(dict.fromkeys([*record.trace().best(k).tolist(), *named]))
    values = record.problem.measures(np.array([record.candidates[n] for n in numbers]))
    measured = dict(zip(numbers, values.tolist(), strict=True))
    record.measured.update(measured)
    return _clearly_best(record, measured, margin, trusted=("uniform",))
