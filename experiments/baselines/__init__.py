"""The compared methods, one file each, by the name their result lines carry."""

from __future__ import annotations

from experiments.baselines.contract import Baseline, BudgetTooSmall, Fitted

BASELINES: dict[str, Baseline] = {}
"""By name; each trains by the library's own loop."""

__all__ = ["BASELINES", "Baseline", "BudgetTooSmall", "Fitted"]
