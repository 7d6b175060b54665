"""Is one model better than another on the same users? The paired t-test."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from elasticrec.errors import InputError


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
    return TTest(difference, deviation, t, _two_sided(t, n - 1), n)


def _two_sided(t: float, freedom: int) -> float:
    """P(|T| >= |t|) for Student's distribution."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))
