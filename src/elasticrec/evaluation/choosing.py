"""Comparisons on the same persons: choices that data make, and the paired t-test of two models.

A candidate replaces a default only by a clear lead: the lower end of the confidence interval of its
mean paired lead must be above 0. Leads that chance explains are not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.data.split import Split
    from elasticrec.evaluation.ranking import Evaluation, Part

FEW_PERSONS = 5_000
"""Fewer persons than this tell candidates apart badly; a choice on fewer says so."""


@dataclass(frozen=True)
class Choice:
    """One choice among candidates, and by how much it leads."""

    name: str
    """Name of the choice: `lead`, `columns_per_slot`, …"""
    chosen: str
    """The candidate that is taken."""
    default: str
    """The candidate that is taken without a clear lead of another."""
    leads: dict[str, tuple[float, float]]
    """By candidate: the mean relative lead over the default, and the lower end of its interval."""
    persons: int
    """Persons on whom the candidates were compared."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for `model.json`."""
        leads = {k: [round(100 * v, 2) for v in pair] for k, pair in self.leads.items()}
        return {
            "name": self.name, "chosen": self.chosen, "default": self.default,
            "lead_percent": leads, "persons": self.persons, "few": self.persons < FEW_PERSONS,
        }  # fmt: skip

    def __str__(self) -> str:
        lead, low = self.leads[self.chosen]
        few = " (few persons)" if self.persons < FEW_PERSONS else ""
        if self.chosen == self.default:
            return f"{self.name}: {self.chosen}, the default{few}"
        return f"{self.name}: {self.chosen}, {lead:+.1%} (at least {low:+.1%}){few}"


def outward(
    measure: Callable[[float], np.ndarray], default: float, candidates: Iterable[float]
) -> dict[str, np.ndarray]:
    """(B, n) values of the default and of candidates, up and down until the next is no better.

    Better is the mean over sizes of what a candidate has of the default's mean.
    """
    found = {f"{default:g}": measure(default)}
    own = np.maximum(found[f"{default:g}"].mean(axis=1), 1e-12)
    rising = sorted(set(candidates) - {default})
    higher = [each for each in rising if each > default]
    for side in (higher, [each for each in reversed(rising) if each < default]):
        best = 1.0
        for candidate in side:
            values = found[f"{candidate:g}"] = measure(candidate)
            mean = float((values.mean(axis=1) / own).mean())
            if mean <= best:
                break
            best = mean
    return found


def choose(name: str, values: Mapping[str, np.ndarray], default: str, *, doubt: float) -> Choice:
    """The candidate with the largest clear lead over the default, else the default.

    Args:
        values: by candidate, (B, n) a metric of n persons at B sizes.
        doubt: how often chance alone may replace it, whatever the number of candidates.
    """
    if default not in values:
        raise InputError(f"{name}: default {default!r}, expected one of {', '.join(values)}")
    base = values[default]
    means = np.maximum(base.mean(axis=1, keepdims=True), 1e-12)  # (B, 1)
    n = base.shape[1]
    z = NormalDist().inv_cdf(1 - doubt / max(len(values) - 1, 1))  # Bonferroni
    leads = {}
    for candidate, found in values.items():
        lead = ((found - base) / means).mean(axis=0)  # (n,) relative, averaged over sizes
        error = float(lead.std(ddof=1)) / sqrt(n) if n > 1 else float("inf")
        mean = float(lead.mean())
        leads[candidate] = mean, mean - z * error if candidate != default else 0.0
    clear = [candidate for candidate, (_, low) in leads.items() if low > 0]
    best = max(clear, key=lambda candidate: leads[candidate][0], default=default)
    return Choice(name, best, default, leads, n)


@dataclass(frozen=True)
class TTest:
    """Two-sided paired t-test of the hypothesis that the mean difference is zero."""

    difference: float
    """Mean of a - b: positive where a is better."""
    deviation: float
    """Standard deviation of the differences, n - 1 in the denominator."""
    t: float
    """difference / (deviation / sqrt(n)); infinite if all users differ by the same amount."""
    p: float
    """Probability of a |t| this large if the two are equally good."""
    n: int
    """Users who were compared."""


def paired_t_test(a: np.ndarray, b: np.ndarray) -> TTest:
    """Test if the values a and b, of the same users in the same order, differ in mean."""
    from scipy.special import stdtr

    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise InputError(
            f"cannot compare per-user values of shapes {a.shape} and {b.shape}; "
            "expected the same users in both, at least two"
        )
    differences = a.astype(np.float64) - b.astype(np.float64)
    n = len(differences)
    difference = float(differences.mean())
    deviation = float(differences.std(ddof=1))
    if np.all(differences == differences[0]):  # no spread: the statistic is a limit
        same = differences[0] == 0
        t = 0.0 if same else inf * np.sign(difference)
        return TTest(difference, 0.0, float(t), 1.0 if same else 0.0, n)
    t = difference / (deviation / sqrt(n))
    return TTest(difference, deviation, t, float(2 * stdtr(n - 1, -abs(t))), n)


def compare(
    first: Evaluation, second: Evaluation, splits: tuple[Split, Split], part: Part = "test"
) -> dict[str, TTest]:
    """A paired t-test of first - second for each metric of both.

    Args:
        splits: the split of each, which hold the same out; items may be numbered differently.
    """
    held = []
    for split, found in zip(splits, (first, second), strict=True):
        pairs = getattr(split, part).rows(found.users)
        users = split.user_ids.take(found.users[pairs.users]).values.tolist()
        items = split.item_ids.take(pairs.items).values.tolist()
        held.append({*zip(users, items, strict=True)})
    if held[0] != held[1] or not np.array_equal(first.users, second.users):
        raise InputError(
            f"the two models hold out different {part} items; expected models of the same split"
        )
    return {
        name: paired_t_test(values, second.per_user[name])
        for name, values in first.per_user.items()
        if name in second.per_user
    }
