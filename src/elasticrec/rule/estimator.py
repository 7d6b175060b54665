"""Estimator: the quality of compositions without evaluating them (Eq. 4 and 5).

The formulas are written once: they work on numpy arrays, by which a search estimates, and on torch
tensors, by which `fit` trains.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import save_bytes
from elasticrec.rule.config import Kind

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


@dataclass(frozen=True)
class Agreement:
    """Agreement of estimates with measurements that were not fitted on."""

    n: int
    """Compositions compared."""
    rmse: float
    """Root mean squared error."""
    spearman: float
    """Rank correlation; NaN where one side is constant."""

    def __str__(self) -> str:
        return f"off by {self.rmse:.4f}, rank correlation {self.spearman:.3f}"

    @classmethod
    def of(cls, estimated: np.ndarray, measured: np.ndarray) -> Agreement:
        """The agreement of two (n,) arrays."""
        error = float(np.sqrt(np.mean((estimated - measured) ** 2)))
        return cls(len(measured), error, spearman(estimated, measured))


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Rank correlation, from -1 to 1; equal values share the mean of their ranks."""
    from scipy.stats import rankdata

    x, y = (rankdata(values) - (len(values) + 1) / 2 for values in (a, b))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else float("nan")
