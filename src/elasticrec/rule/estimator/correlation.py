"""How far an estimate is off, and how well it orders."""

from __future__ import annotations

import numpy as np


def rmse(estimated: np.ndarray, measured: np.ndarray) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((estimated - measured) ** 2)))


def average_ranks(values: np.ndarray) -> np.ndarray:
    """(n,) places from 0 in ascending order; equal values share the mean of their places."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2)[inverse]


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Rank correlation, from -1 to 1; NaN where one of them is constant or holds a single value."""
    x, y = average_ranks(a), average_ranks(b)
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else float("nan")
