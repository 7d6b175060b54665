"""Planned compositions: what a sensible person might keep, by worths drawn at random.

An estimator must be right where a search ends, and a search ends far from what independent draws
give: at compositions whose bytes go where they are worth most. So some draws are made that way.
Worths are guessed: earlier groups count more, more planes and more neighbours help less and less,
all at rates drawn anew for every composition.
"""

from __future__ import annotations

import numpy as np

from elasticrec.space.ladder import Ladder

STEEPEST = 1.5
"""The worth of group g falls at most as (g + 1) to this power."""
JITTER = 0.3
"""Spread of the logarithm of a group's worth about that."""
HALVINGS = 40
"""Steps that find the price of a byte."""


def draw_planned(ladder: Ladder, allowance: int, rng: np.random.Generator) -> np.ndarray:
    """(G,) rows of a menu within an allowance, those of most worth by rates drawn at random."""
    worth = _group_worth(ladder.n_groups, rng)[:, None] * _row_worth(ladder, rng)  # (G, R)
    worth = np.where(ladder.allowed, worth, -np.inf)
    rows = _bought(ladder, worth, allowance)
    left = ladder.repair(rows, allowance - int(ladder.cost(rows).sum()), rng)
    ladder.top_up(rows, left, rng)
    return rows


def _group_worth(n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """(G,) what a group's items count for, the earlier the more."""
    falling = np.log1p(np.arange(n_groups)) * rng.uniform(0, STEEPEST)
    worth: np.ndarray = np.exp(rng.normal(0, rng.uniform(0, JITTER), n_groups) - falling)
    return worth


def _row_worth(ladder: Ladder, rng: np.random.Generator) -> np.ndarray:
    """(R,) what a row is worth: logarithms of its planes and of its neighbours."""
    menu = ladder.menu
    planes = menu.depths.astype(np.float64).sum(axis=1)
    soon = menu.n_blocks * np.exp(rng.uniform(np.log(0.05), np.log(1.0)))
    few = np.exp(rng.uniform(np.log(0.5), np.log(4.0)))
    worth: np.ndarray = np.log1p(planes / soon) / np.log1p(planes.max() / soon or 1)
    counted = np.log1p(menu.neighbours / few) / np.log1p(menu.neighbours.max() / few or 1)
    both: np.ndarray = worth + rng.uniform(0, 1.5) * counted
    return both


def _bought(ladder: Ladder, worth: np.ndarray, allowance: int) -> np.ndarray:
    """(G,) each group's row of most worth less price, at the lowest price per byte that fits."""
    costs = ladder.costs.astype(np.float64)
    low, high = 0.0, float(np.ptp(worth[np.isfinite(worth)]) + 1)
    rows = ladder.cheapest.copy()
    for _ in range(HALVINGS):
        price = (low + high) / 2
        chosen = (worth - price * costs).argmax(axis=1)
        if ladder.cost(chosen).sum() <= allowance:
            high, rows = price, chosen
        else:
            low = price
    return np.asarray(rows, dtype=np.int64)
