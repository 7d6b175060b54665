"""Fitting the estimator (Eq. 6): a two-fold check chooses settings, then all samples are used."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import cos, pi
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from elasticrec.errors import InputError
from elasticrec.rule.estimator.config import EstimatorConfig
from elasticrec.rule.estimator.correlation import rmse, spearman
from elasticrec.rule.estimator.features import Features
from elasticrec.rule.estimator.model import Estimator
from elasticrec.rule.estimator.network import DNN, FM, build, export
from elasticrec.evaluation.arithmetic import single_thread
from elasticrec.evaluation.ranking import pick_device

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.rule.estimator.ledger import Samples

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """One candidate."""

    width: int
    """d0."""
    learning_rate: float
    """Adam's highest learning rate."""
    l2: float
    """Weight of the squared norm of all parameters."""


@dataclass(frozen=True)
class Trial:
    """One candidate and its error on the fold it was not fitted on."""

    settings: Settings
    """The candidate."""
    rmse: float
    """Root mean squared error, out of fold."""
    spearman: float
    """Rank correlation, out of fold."""


@dataclass(frozen=True)
class Agreement:
    """How estimates agree with measurements on compositions that were not fitted on."""

    n: int
    """How many compositions."""
    rmse: float
    """Root mean squared error."""
    spearman: float
    """Rank correlation."""


@dataclass(frozen=True)
class Fitted:
    """An estimator and what the two-fold check said."""

    estimator: Estimator
    """Fitted on all samples."""
    trials: tuple[Trial, ...]
    """Every candidate, in the order tried; the one of least error was taken."""

    @property
    def chosen(self) -> Trial:
        """The candidate of least error."""
        return min(self.trials, key=lambda trial: trial.rmse)


def fit(samples: Samples, config: EstimatorConfig, *, device: str = "cpu") -> Fitted:
    """The estimator of the best candidate, fitted on all samples until its loss converges."""
    if len(samples.values) < 4:
        raise InputError(f"{len(samples.values)} samples, expected at least 4 to fit and to check")
    features = Features.of(samples.depths, samples.neighbours)
    where = pick_device(device)
    bits = torch.from_numpy(features.encode(samples.depths, samples.neighbours)).to(where)
    mean, scale = float(samples.values.mean()), float(samples.values.std())
    targets = torch.from_numpy((samples.values - mean) / (scale or 1.0)).to(where, torch.float32)
    with single_thread():
        trials = _choose(bits, targets, config)
        best = min(trials, key=lambda trial: trial.rmse)
        network = train_until_converged(bits, targets, config, best.settings)
    weights = export(network, mean=mean, scale=scale)
    trials = [replace(trial, rmse=trial.rmse * scale) for trial in trials]
    found = Fitted(Estimator(features, config.kind, weights), tuple(trials))
    about: dict[str, Any] = {"config": asdict(config), "two_fold": asdict(found.chosen)}
    return replace(found, estimator=replace(found.estimator, about=about))


def _choose(bits: Tensor, targets: Tensor, config: EstimatorConfig) -> list[Trial]:
    """The candidates tried: widths, then learning rates, then L2, each with the best so far."""
    measured = targets.cpu().numpy().astype(np.float64)

    def attempt(settings: Settings) -> Trial:
        guessed = two_folds(bits, targets, config, settings)
        trial = Trial(settings, rmse(guessed, measured), spearman(guessed, measured))
        log.info("two-fold check: %s", trial)
        return trial

    best = attempt(Settings(config.widths[0], config.learning_rates[0], config.l2s[0]))
    trials = [best]
    each: dict[str, tuple[Any, ...]] = {
        "width": config.widths,
        "learning_rate": config.learning_rates,
        "l2": config.l2s,
    }
    for name, values in each.items():
        trials += [attempt(replace(best.settings, **{name: value})) for value in values[1:]]
        best = min(trials, key=lambda trial: trial.rmse)
    return trials


def train_until_converged(
    bits: Tensor, targets: Tensor, config: EstimatorConfig, settings: Settings
) -> FM | DNN:
    """A network fitted in rounds, until one lowers the loss by less than `config.converged`."""
    generator = torch.Generator().manual_seed(config.seed)
    network = _built(bits, config, settings, generator)
    lowest = train_round(network, bits, targets, config, settings, generator)
    for _ in range(config.max_rounds - 1):
        settings = replace(settings, learning_rate=settings.learning_rate / 2)
        before = {name: value.clone() for name, value in network.state_dict().items()}
        loss = train_round(network, bits, targets, config, settings, generator)
        log.info("a further round: loss %.5f after %.5f", loss, lowest)
        if loss > lowest:
            network.load_state_dict(before)
        if loss > lowest * (1 - config.converged):
            break
        lowest = loss
    return network


def _built(
    bits: Tensor, config: EstimatorConfig, settings: Settings, generator: torch.Generator
) -> FM | DNN:
    """A network before its training."""
    return build(
        config.kind,
        bits,
        settings.width,
        linear=config.linear,
        smooth=config.smooth,
        generator=generator,
    )


def train_round(
    network: FM | DNN,
    bits: Tensor,
    targets: Tensor,
    config: EstimatorConfig,
    settings: Settings,
    generator: torch.Generator,
) -> float:
    """The mean loss (Eq. 6) over the last tenth of a round on bits (n, G, F) and targets (n,).

    Adam, whose learning rate rises over the first tenth of the steps and then falls to 0 along a
    cosine.
    """
    rate, steps = settings.learning_rate, config.steps
    optimizer = torch.optim.Adam(
        network.parameters(), lr=rate, betas=(0.9, 0.99), weight_decay=2 * settings.l2
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / (0.1 * steps)) * (1 + cos(pi * step / steps)) / 2,
    )
    last = torch.zeros((), device=bits.device)
    counted = max(1, steps // 10)
    for step, drawn in enumerate(_batches(len(bits), config.batch_size, steps, generator)):
        some = drawn.to(bits.device)
        loss = (network(bits[some]) - targets[some]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step >= steps - counted:
            last += loss.detach() / counted
    return float(last)


def _batches(n: int, size: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """So many batches of sample numbers, every sample once before any comes again."""
    while steps > 0:
        for some in torch.randperm(n, generator=generator).split(size)[:steps]:
            steps -= 1
            yield some


def two_folds(
    bits: Tensor, targets: Tensor, config: EstimatorConfig, settings: Settings
) -> np.ndarray:
    """(n,) estimates of each half of the samples by a network fitted, one round, to the other."""
    order = torch.from_numpy(np.random.default_rng(config.seed).permutation(len(bits)))
    halves = order[0::2].to(bits.device), order[1::2].to(bits.device)

    def fold(fitted: Tensor, left_out: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(config.seed)
        some, goal = bits[fitted], targets[fitted]
        network = _built(some, config, settings, generator)
        train_round(network, some, goal, config, settings, generator)
        with torch.no_grad():
            return network(bits[left_out])

    guessed = torch.empty_like(targets)
    with ThreadPoolExecutor(2) as pool:
        for left_out, values in zip(
            halves[::-1], pool.map(fold, halves, halves[::-1]), strict=True
        ):
            guessed[left_out] = values
    return guessed.cpu().numpy().astype(np.float64)


def agreement(estimator: Estimator, samples: Samples) -> Agreement:
    """How an estimator agrees with samples that it was not fitted on."""
    guessed = estimator.predict(samples.depths, samples.neighbours)
    n = len(samples.values)
    return Agreement(n, rmse(guessed, samples.values), spearman(guessed, samples.values))


def within_budgets(estimator: Estimator, held_out: Mapping[str, Samples]) -> dict[str, Agreement]:
    """The agreement within each budget, by the budget's name: the total must not tell the order."""
    return {name: agreement(estimator, samples) for name, samples in held_out.items()}
