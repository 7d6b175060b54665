"""Problem: the paper's Problem 1, the best composition within a budget. Found: an answer to it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from elasticrec.files import written_whole
from elasticrec.rule.candidates import Candidates
from elasticrec.space.budget import Budget
from elasticrec.space.composition import Composition

Quality = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Depths (B, G, N) and neighbours (B, G) to (B,) quality: an estimator or a real evaluator."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What to choose from, and how to tell good from bad."""

    candidates: Candidates
    """What fits in the budget."""
    estimate: Quality
    """Estimated quality."""
    evaluate: Quality | None = None
    """Measured quality; needed to refine, and by `greedy-measured`."""

    def measured(self) -> Problem:
        """The same problem, measured wherever it would be estimated."""
        if self.evaluate is None:
            raise ValueError("a problem without an evaluator cannot be measured")
        return replace(self, estimate=self.evaluate)

    def estimated(self, found: Found) -> Found:
        """What was found by measuring alone, with its estimate beside what it measures.

        It is measured once more: what it was chosen by may be that of a smaller one it contains.
        """
        candidate = self.candidates.of(found.composition)[None]
        estimate, measured = (float(f(candidate)[0]) for f in (self.estimates, self.measures))
        return replace(found, measured=measured, estimate=estimate)

    def estimates(self, candidates: np.ndarray) -> np.ndarray:
        """(B,) float64 estimated quality of some candidates (B, G, …), in one call."""
        return _finite(self.estimate(*self.candidates.arrays(candidates)), "estimate")

    def measures(self, candidates: np.ndarray) -> np.ndarray:
        """(B,) float64 measured quality of some candidates (B, G, …)."""
        if self.evaluate is None:
            raise ValueError("measured quality was asked for, but the problem has no evaluator")
        return _finite(self.evaluate(*self.candidates.arrays(candidates)), "measured quality")


def _finite(values: np.ndarray, noun: str) -> np.ndarray:
    """The values as float64; anything that cannot be ranked is refused."""
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"an {noun} is not a finite number: the search cannot rank by it")
    return values


@dataclass(frozen=True, eq=False)
class Trace:
    """Every candidate that a method looked at, in order."""

    candidates: np.ndarray
    """(n, G) rows of the menu, or (n, G, N) masks."""
    parents: np.ndarray
    """(n,) the number of the candidate each was made from, -1 for none."""
    made_by: tuple[str, ...]
    """How each was made: `random`, `uniform`, `greedy`, a mutation's name, `step`."""
    estimates: np.ndarray
    """(n,) estimated quality; NaN where a method only measured."""
    measured: np.ndarray
    """(n,) measured quality; NaN where it was not measured."""

    def best(self, k: int) -> np.ndarray:
        """Numbers of the k best distinct candidates by estimate, the best and then oldest first."""
        found: dict[bytes, int] = {}
        for number in np.argsort(-self.estimates, kind="stable").tolist():
            found.setdefault(self.candidates[number].tobytes(), number)
            if len(found) == k:
                break
        return np.array(list(found.values()), dtype=np.int64)

    def save(self, path: Path | str) -> None:
        """Write one JSON line per candidate, whole or not at all."""
        rows = zip(self.parents, self.made_by, self.estimates, self.measured, strict=True)
        with written_whole(path) as file:
            for number, (parent, made_by, estimate, measured) in enumerate(rows):
                line = {
                    "number": number,
                    "parent": int(parent),
                    "made_by": made_by,
                    "estimate": None if np.isnan(estimate) else float(estimate),
                    "measured": None if np.isnan(measured) else float(measured),
                    "choice": self.candidates[number].astype(int).tolist(),
                }
                file.write(json.dumps(line).encode() + b"\n")


@dataclass(frozen=True, eq=False)
class Found:
    """What a method found, and what it cost to find."""

    method: str
    """`searched`, `uniform`, `best-of-random`, `greedy` or `greedy-measured`."""
    composition: Composition
    n_bytes: int
    """What it costs by the problem's accounting."""
    estimate: float
    """Estimated quality."""
    seconds: float
    """How long the method took."""
    trace: Trace
    measured: float | None = None
    """Measured quality, where it was measured."""
    note: str = ""
    """What a person should know, such as that the budget holds everything."""

    def summary(self) -> str:
        """One line: method, bytes, estimate, measured quality, time."""
        measured = "" if self.measured is None else f", measured {self.measured:.5f}"
        return (
            f"{self.method}: {Budget(self.n_bytes)}, estimated {self.estimate:.5f}{measured}, "
            f"{self.seconds * 1e3:.0f} ms" + (f" ({self.note})" if self.note else "")
        )

    def with_measure(self, evaluate: Quality) -> Found:
        """The same with its measured quality; what was measured before is not measured again."""
        if self.measured is not None:
            return self
        value = evaluate(self.composition.depths[None], self.composition.neighbours[None])
        return replace(self, measured=float(_finite(value, "measured quality")[0]))


@dataclass
class Record:
    """A trace in the making, and the clock of its method."""

    problem: Problem
    candidates: list[np.ndarray] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    made_by: list[str] = field(default_factory=list)
    estimates: list[float] = field(default_factory=list)
    measured: dict[int, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def add(self, candidate: np.ndarray, parent: int, made_by: str, estimate: float) -> int:
        """The number of a candidate, after it was noted."""
        self.candidates.append(candidate)
        self.parents.append(parent)
        self.made_by.append(made_by)
        self.estimates.append(estimate)
        return len(self.estimates) - 1

    def trace(self) -> Trace:
        """All that was noted so far."""
        measured = np.full(len(self.estimates), np.nan)
        measured[list(self.measured)] = list(self.measured.values())
        return Trace(
            np.array(self.candidates),
            np.array(self.parents, dtype=np.int64),
            tuple(self.made_by),
            np.array(self.estimates, dtype=np.float64),
            measured,
        )

    def found(self, method: str, number: int, note: str = "") -> Found:
        """The answer that candidate `number` is."""
        space, candidate = self.problem.candidates, self.candidates[number]
        estimate = self.estimates[number]
        if np.isnan(estimate):
            estimate = float(self.problem.estimates(candidate[None])[0])
        return Found(
            method=method,
            composition=space.compose(candidate),
            n_bytes=space.n_bytes(candidate),
            estimate=estimate,
            seconds=time.perf_counter() - self.started,
            trace=self.trace(),
            measured=self.measured.get(number),
            note=note,
        )

    def everything(self, method: str) -> Found:
        """The answer where the budget holds all there is."""
        space = self.problem.candidates
        whole = space.everything()
        number = self.add(whole, -1, "everything", float(self.problem.estimates(whole[None])[0]))
        full = Budget(space.full_bytes)
        note = f"the budget of {space.budget} holds the full model of {full}: everything is kept"
        return self.found(method, number, note)
