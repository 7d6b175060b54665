"""Fitting the estimator (Eq. 6): a two-fold check chooses settings, then all samples are used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from math import cos, pi
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.errors import InputError
from elasticrec.rule.config import EstimatorConfig
from elasticrec.rule.estimator import FORMS, Agreement, Estimator

if TYPE_CHECKING:
    from torch import Generator, Tensor

log = logging.getLogger(__name__)
Weights = dict[str, "Tensor"]


@dataclass(frozen=True)
class Settings:
    """One candidate of the two-fold check."""

    width: int
    """d0."""
    learning_rate: float
    """Adam's highest learning rate."""
    l2: float
    """Weight of the squared norm of all parameters."""

    def __str__(self) -> str:
        return f"d0 {self.width}, learning rate {self.learning_rate:g}, L2 {self.l2:g}"


def fit(bits: np.ndarray, values: np.ndarray, config: EstimatorConfig) -> Estimator:
    """The estimator of bits (n, G, F) that were measured as values (n,).

    Its `about` has every candidate of the two-fold check with its agreement, and which was taken.
    """
    if len(values) < 4:
        raise InputError(f"{len(values)} samples, expected at least 4 to fit and to check")
    mean, scale = float(values.mean()), float(values.std())
    X = torch.from_numpy(np.asarray(bits, dtype=np.float32))
    y = torch.from_numpy(((values - mean) / (scale or 1.0)).astype(np.float32))
    trials: dict[Settings, Agreement] = {}

    def error(settings: Settings) -> float:
        if settings not in trials:
            guessed = two_folds(X, y, config, settings).astype(np.float64) * scale + mean
            trials[settings] = Agreement.of(guessed, values)
            log.info("two-fold check: %s, %s", settings, trials[settings])
        return trials[settings].rmse

    best = choose_settings(config, error)
    weights = train_until_converged(X, y, config, best)
    out = {name: w.detach().numpy().astype(np.float64) for name, w in weights.items()}
    for name in ("out", "bias", "linear"):  # undo that targets were (y - mean) / scale
        if name in out:
            out[name] = out[name] * scale
    out["bias"] = np.asarray(out["bias"] + mean)
    tried = [{**asdict(each), **asdict(found)} for each, found in trials.items()]
    chosen = {**asdict(best), **asdict(trials[best])}
    return Estimator(config.kind, out, {"two_fold": tried, "chosen": chosen})


def choose_settings(config: EstimatorConfig, error: Callable[[Settings], float]) -> Settings:
    """The settings of least error: widths, then learning rates, then L2, each with the best."""
    best = Settings(config.widths[0], config.learning_rates[0], config.l2s[0])
    best = min([replace(best, width=each) for each in config.widths], key=error)
    best = min([replace(best, learning_rate=each) for each in config.learning_rates], key=error)
    return min([replace(best, l2=each) for each in config.l2s], key=error)


def two_folds(X: Tensor, y: Tensor, config: EstimatorConfig, settings: Settings) -> np.ndarray:
    """(n,) estimates of each half of the samples by weights fitted, one round, to the other."""
    order = torch.from_numpy(np.random.default_rng(config.seed).permutation(len(X)))
    guessed = torch.empty_like(y)
    for fitted, left_out in ((order[0::2], order[1::2]), (order[1::2], order[0::2])):
        generator = torch.Generator().manual_seed(config.seed)
        some, goal = X[fitted], y[fitted]
        weights = first_weights(config, some, settings.width, generator)
        train_round(weights, some, goal, config, settings, generator)
        with torch.no_grad():
            guessed[left_out] = FORMS[config.kind](weights, X[left_out])
    return guessed.numpy()


def train_until_converged(
    X: Tensor, y: Tensor, config: EstimatorConfig, settings: Settings
) -> Weights:
    """Weights fitted in rounds, until one lowers the loss by less than `config.converged`."""
    generator = torch.Generator().manual_seed(config.seed)
    weights = first_weights(config, X, settings.width, generator)
    lowest = train_round(weights, X, y, config, settings, generator)
    for _ in range(config.max_rounds - 1):
        settings = replace(settings, learning_rate=settings.learning_rate / 2)
        before = {name: value.detach().clone() for name, value in weights.items()}
        loss = train_round(weights, X, y, config, settings, generator)
        if loss > lowest:
            weights = before
        if loss > lowest * (1 - config.converged):
            break
        lowest = loss
    return weights


def first_weights(config: EstimatorConfig, X: Tensor, width: int, generator: Generator) -> Weights:
    """Random weights for bits (n, G, F) such as these: each x_g has mean 0, pairs spread 1."""
    (_, G, F), d0 = X.shape, width

    def normal(*shape: int, scale: float = 1.0) -> Tensor:
        return torch.randn(shape, generator=generator) * scale

    code = normal(F, d0)
    if config.kind == "dnn":
        w = {"code": code / F**0.5, "group": -X.mean(dim=0) @ code / F**0.5}
        w |= {"layer": normal(G * d0, d0, scale=(G * d0) ** -0.5), "layer_bias": torch.zeros(d0)}
    else:
        group = normal(G, d0, scale=config.group_spread) - X.mean(dim=0) @ code
        x = group + X @ code
        pairs = (x.sum(1).square() - x.square().sum(1)) / 2
        spread = pairs.std(dim=0).mean().sqrt()
        spread = torch.where(spread > 0, spread, 1.0)
        w = {"code": code / spread, "group": group / spread}
        w |= {"ffn": normal(d0, d0, scale=d0**-0.5), "ffn_bias": torch.zeros(d0)}
        if config.linear:
            w["linear"] = torch.zeros(G * F)
    w |= {"out": normal(d0, scale=d0**-0.5), "bias": torch.zeros(())}
    return {name: value.requires_grad_() for name, value in w.items()}


def train_round(
    weights: Weights,
    X: Tensor,
    y: Tensor,
    config: EstimatorConfig,
    settings: Settings,
    generator: Generator,
) -> float:
    """The mean loss (Eq. 6) over the last steps of a round on bits (n, G, F) and targets (n,).

    Adam, whose learning rate rises over the first steps and then falls to 0 along a cosine.
    """
    rate, steps, form = settings.learning_rate, config.steps, FORMS[config.kind]
    optimizer = torch.optim.Adam(
        weights.values(), lr=rate, betas=config.betas, weight_decay=2 * settings.l2
    )
    counted = max(1, int(steps * config.counted))
    last = 0.0
    for step, some in enumerate(_batches(len(X), config.batch_size, steps, generator)):
        rising = min(1.0, (step + 1) / (config.warmup * steps))
        optimizer.param_groups[0]["lr"] = rate * rising * (1 + cos(pi * step / steps)) / 2
        loss = (form(weights, X[some]) - y[some]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= steps - counted:
            last += float(loss.detach()) / counted
    return last


def _batches(n: int, size: int, steps: int, generator: Generator) -> Iterator[Tensor]:
    """So many batches of sample numbers, every sample once before any comes again."""
    while steps > 0:
        for some in torch.randperm(n, generator=generator).split(size)[:steps]:
            steps -= 1
            yield some
