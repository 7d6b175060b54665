"""Estimator: the quality of compositions without evaluating them (Eq. 4 to 6).

The formulas are written once: they work on numpy arrays, by which a search estimates, and on torch
tensors, by which `fit` trains. A two-fold check chooses settings, then all samples are used.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import cos, pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from elasticrec.errors import InputError
from elasticrec.files import save_bytes
from elasticrec.rule.config import EstimatorConfig, Kind

log = logging.getLogger(__name__)
Weights = dict[str, Tensor]

FORMAT = "elasticrec estimator 2"
"""The first field of a saved estimator."""


def fm(w: dict[str, Any], bits: Any) -> Any:
    """(B,) Eq. 5 of bits (B, G, F), multi-hot(B_g) for each group.

    W is [group, code]: one-hot(g) picks a row of `group`. The activation of FFN is open: ReLU. The
    linear term, one weight per group and bit, is ours.
    """
    x = w["group"] + bits @ w["code"]  # (B, G, d0), Eq. 4
    S = x.sum(1)  # (B, d0)
    pairs = (S * S - (x * x).sum(1)) / 2  # sum over g < g' of x_g * x_g'
    hidden = (pairs @ w["ffn"] + w["ffn_bias"]).clip(0)
    y = hidden @ w["out"] + w["bias"]
    return y + bits.reshape(len(bits), -1) @ w["linear"] if "linear" in w else y


def dnn(w: dict[str, Any], bits: Any) -> Any:
    """(B,) DNNEst: one hidden layer (ReLU) on the concatenation of all x_g."""
    x = w["group"] + bits @ w["code"]  # (B, G, d0), Eq. 4
    hidden = (x.reshape(len(x), -1) @ w["layer"] + w["layer_bias"]).clip(0)
    return hidden @ w["out"] + w["bias"]


FORMS = {"fm": fm, "dnn": dnn}
"""The formula of each kind."""


@dataclass(frozen=True, eq=False)
class Estimator:
    """Fitted weights, in units of the metric."""

    kind: Kind
    """`fm` or `dnn`."""
    weights: dict[str, np.ndarray]
    """float64 arrays by name."""
    about: dict[str, Any] = field(default_factory=dict)
    """Plain facts kept beside it: the metric, settings, and how good it is."""

    def predict(self, bits: np.ndarray) -> np.ndarray:
        """(B,) float64 estimates of bits (B, G, F)."""
        (G, _), F = self.weights["group"].shape, len(self.weights["code"])
        if bits.shape[1:] != (G, F):
            raise InputError(f"features of shape {bits.shape[1:]}, expected {G} groups of {F} bits")
        return np.asarray(FORMS[self.kind](self.weights, bits.astype(np.float64)))

    def save(self, path: Path | str) -> None:
        """Write one `.safetensors` file, whole or not at all."""
        from safetensors.numpy import save

        about = {"format": FORMAT, "kind": self.kind, "about": self.about}
        arrays = {name: np.array(a, order="C") for name, a in self.weights.items()}
        save_bytes(path, save(arrays, metadata={"elasticrec": json.dumps(about)}))

    @classmethod
    def load(cls, path: Path | str) -> Estimator:
        """The estimator that `save` wrote; needs no torch."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads((file.metadata() or {}).get("elasticrec", "{}"))
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise InputError(f"{path}: not a sound safetensors file ({error})") from None
        if about.get("format") != FORMAT:
            raise InputError(f"{path}: not an estimator, expected one that says {FORMAT!r}")
        return cls(about["kind"], weights, about["about"])


def agreement(estimated: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """n, the root mean squared error, and the rank correlation, NaN where one side is constant."""
    from scipy.stats import rankdata

    x, y = (rankdata(values) - (len(values) + 1) / 2 for values in (estimated, measured))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return {
        "n": len(measured),
        "rmse": float(np.sqrt(np.mean((estimated - measured) ** 2))),
        "spearman": float(x @ y) / spread if spread else float("nan"),
    }


class Settings(NamedTuple):
    """One candidate of the two-fold check."""

    width: int
    """d0."""
    learning_rate: float
    """Adam's highest learning rate."""
    l2: float
    """Weight of the squared norm of all parameters."""


def fit(bits: np.ndarray, values: np.ndarray, config: EstimatorConfig) -> Estimator:
    """The estimator of bits (n, G, F) that were measured as values (n,).

    Its `about` has every candidate of the two-fold check with its agreement, and which was taken.
    """
    if len(values) < 4:
        raise InputError(f"{len(values)} samples, expected at least 4 to fit and to check")
    mean, scale = float(values.mean()), float(values.std())
    X = torch.from_numpy(np.asarray(bits, dtype=np.float32))
    y = torch.from_numpy(((values - mean) / (scale or 1.0)).astype(np.float32))
    trials: dict[Settings, dict[str, float]] = {}

    def error(settings: Settings) -> float:
        if settings not in trials:
            guessed = two_folds(X, y, config, settings).astype(np.float64) * scale + mean
            trials[settings] = agreement(guessed, values)
            log.info("two-fold check: %s, %s", settings, trials[settings])
        return trials[settings]["rmse"]

    best = choose_settings(config, error)
    weights = train_until_converged(X, y, config, best)
    out = {name: w.detach().numpy().astype(np.float64) for name, w in weights.items()}
    for name in out.keys() & {"out", "bias", "linear"}:  # targets were (y - mean) / scale
        out[name] = out[name] * scale
    out["bias"] = np.asarray(out["bias"] + mean)
    tried = [each._asdict() | found for each, found in trials.items()]
    return Estimator(config.kind, out, {"two_fold": tried, "chosen": best._asdict() | trials[best]})


def choose_settings(config: EstimatorConfig, error: Callable[[Settings], float]) -> Settings:
    """The settings of least error: widths, then learning rates, then L2, each with the best."""
    best = Settings(config.widths[0], config.learning_rates[0], config.l2s[0])
    best = min([best._replace(width=each) for each in config.widths], key=error)
    best = min([best._replace(learning_rate=each) for each in config.learning_rates], key=error)
    return min([best._replace(l2=each) for each in config.l2s], key=error)


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
        settings = settings._replace(learning_rate=settings.learning_rate / 2)
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
    weights: Weights, X: Tensor, y: Tensor,
    config: EstimatorConfig, settings: Settings, generator: Generator,
) -> float:  # fmt: skip
    """The mean loss (Eq. 6) over the last steps of a round on bits (n, G, F) and targets (n,).

    Adam, whose learning rate rises over the first steps and then falls to 0 along a cosine.
    """
    rate, steps, form = settings.learning_rate, config.steps, FORMS[config.kind]
    optimizer = torch.optim.Adam(
        weights.values(), lr=rate, betas=config.betas, weight_decay=2 * settings.l2
    )
    counted, last = max(1, int(steps * config.counted)), 0.0
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
