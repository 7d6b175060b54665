"""Tuning: other training settings, tried by Optuna and judged on validation users."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from time import monotonic
from typing import Annotated, Any

import numpy as np

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.settings import Count, Positive, Range, Settings, Share, Weight
from elasticrec.training.config import TrainConfig

log = logging.getLogger(__name__)

Span = tuple[Positive, Positive]
"""The lowest and the highest value."""
TRIED = {
    "softmax": ("temperature", "learning_rate", "cooccurrence", "init_power", "visits"),
    "bpr": ("learning_rate", "l2", "visits"),
}
"""Settings of `TrainConfig` that are tried, by loss."""
Trials = Annotated[int, Range(2, 10_000)]
LINEAR = ("cooccurrence", "init_power")
"""Those drawn evenly; the others are drawn by their logarithm."""
DEFAULT = "default"


@dataclass(frozen=True, repr=False)
class TuneConfig(Settings):
    """The number of trials, and the ranges that they draw training settings from."""

    trials: Trials = 100
    """Trainings, at most; the first has the settings that the others start from."""
    rest_of_fit: Weight = 4.0
    """Times of one training that a fit takes beside its trials, about."""
    temperature: Span = (0.05, 0.3)
    """Of `softmax`."""
    learning_rate: Span = (1e-3, 2e-2)
    """Adam's step at the start."""
    cooccurrence: tuple[Share, Share] = (0.0, 1.0)
    """Weight of the co-occurrence term of `softmax`."""
    init_power: tuple[Share, Share] = (0.0, 1.0)
    """Power of the singular values of spectral first vectors, with `softmax`."""
    visits: tuple[Count, Count] = (100, 2_000)
    """Visits to the pairs of an average item; where the number of epochs is not given."""
    l2: Span = (1e-6, 1e-2)
    """Of `bpr`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in {name for names in TRIED.values() for name in names}:
            if list(getattr(self, name)) != sorted(getattr(self, name)):
                raise InputError(f"{name} is {getattr(self, name)}, expected the lowest one first")


@dataclass(frozen=True)
class Tuned:
    """The result of a tuning."""

    settings: dict[str, float]
    """The settings to change; none where no trial leads clearly."""
    choice: Choice
    """The comparison of trials with the settings that they started from."""
    values: dict[str, float]
    """The metric's mean on validation users by trial; `default` is what it started from."""


def tune(
    split: Split, config: TrainConfig, tuning: TuneConfig, *,
    seconds: float | None = None, later: float = 0.0, device: str = "auto",
) -> Tuned:  # fmt: skip
    """The training settings that rank validation items best, if their lead is no chance.

    Many trials have a lucky one among them, so a trial counts only if its paired lead over the
    default stays above 0 after a correction for their number. Test is never read.

    Args:
        seconds: begin no trial that would end later; Ctrl-C ends the one under way.
        later: so many times the first trial's time are kept out of them, for what comes after.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    split, _ = by_popularity(split)
    ranges = _ranges(config, tuning)
    sampler = optuna.samplers.TPESampler(seed=config.seed % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    own = {name: getattr(config, name) for name in ranges}
    study.enqueue_trial({n: v for n, v in own.items() if v > 0 or n in LINEAR})
    found: dict[str, np.ndarray] = {}
    settings: dict[str, dict[str, Any]] = {}
    began, first = monotonic(), 0.0
    while len(found) < tuning.trials:
        if found and seconds is not None and monotonic() - began + (1 + later) * first > seconds:
            break
        trial = study.ask()
        suggested = _suggested(trial, ranges)
        name, chosen = (f"trial {len(found)}", suggested) if found else (DEFAULT, {})
        try:
            found[name] = _values(split, replace(config, **chosen), device)
        except KeyboardInterrupt:
            if not found:
                raise
            break
        first = first or monotonic() - began
        settings[name] = chosen
        study.tell(trial, float(found[name].mean()))
        log.info("%s: %s %.4f  %s", name, config.metric, found[name].mean(),
                 " ".join(f"{n}={v:.4g}" for n, v in settings[name].items()))  # fmt: skip
    values = {name: each[None] for name, each in found.items()}
    choice = choose("training settings", values, DEFAULT, doubt=config.doubt)
    means = {name: float(each.mean()) for name, each in found.items()}
    return Tuned(settings[choice.chosen], choice, means)


def _ranges(config: TrainConfig, tuning: TuneConfig) -> dict[str, Span]:
    """The ranges that suit some settings, widened to hold them."""
    ranges: dict[str, tuple[float, float]] = {
        name: getattr(tuning, name) for name in TRIED[config.loss]
    }
    if config.epochs:
        ranges.pop("visits")  # it only derives a number of epochs that is not given
    if config.init != "spectral":
        ranges.pop("init_power", None)
    for name, (low, high) in ranges.items():
        own = getattr(config, name)
        if name in LINEAR or own > 0:
            ranges[name] = min(low, own), max(high, own)
    return ranges


def _suggested(trial: Any, ranges: dict[str, Span]) -> dict[str, Any]:
    """The settings of a trial; whole numbers where the setting is one."""
    return {
        name: (trial.suggest_int if isinstance(low, int) else trial.suggest_float)(
            name, low, high, log=name not in LINEAR
        )
        for name, (low, high) in ranges.items()
    }


def _values(split: Split, config: TrainConfig, device: str) -> np.ndarray:
    """(n,) the metric of each validation user after a training."""
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.training.loop import train

    table = train(split, config, device=device, report=lambda _: None).table
    found = evaluate(table, split, part="validation", metrics=[config.metric], device=device)
    return found.per_user[config.metric]
