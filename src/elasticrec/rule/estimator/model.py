"""Estimator: the quality of compositions without evaluating them, in numpy alone (Eq. 5).

`network.py` holds the same formulas in torch, for training; a test keeps the two equal.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.data.interactions import fingerprint
from elasticrec.rule.estimator.features import Features

Kind = Literal["fm", "dnn"]
FORMAT = "elasticrec estimator 1"
"""What a saved estimator says it is."""
_AT_ONCE = 256  # compositions per product: what stays in a core's cache is twice as fast


@dataclass(frozen=True, eq=False)
class Estimator:
    """Fitted weights of `fm` (factorised pairs of groups) or `dnn` (one hidden layer)."""

    features: Features
    """How a composition becomes bits."""
    kind: Kind
    """`fm` or `dnn`."""
    weights: dict[str, np.ndarray]
    """float64 arrays by name, as `network.export` gives them, in units of the metric."""
    about: dict[str, Any] = field(default_factory=dict)
    """Plain facts kept beside it: the metric, settings, and how good it is."""

    def predict(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) float64 estimates of compositions, depths (B, G, N) and neighbours (B, G) uint8."""
        if depths.shape[1:] != (self.features.n_groups, self.features.n_blocks):
            raise InputError(
                f"compositions of shape {depths.shape[1:]}, expected "
                f"{self.features.n_groups} groups of {self.features.n_blocks} blocks"
            )
        if len(depths) <= _AT_ONCE:
            y = self._forward(depths, neighbours)
        else:
            starts = range(0, len(depths), _AT_ONCE)
            spans = [slice(start, start + _AT_ONCE) for start in starts]
            y = np.concatenate([self._forward(depths[some], neighbours[some]) for some in spans])
        if np.isnan(y).any():
            raise InputError(
                f"a composition has a depth outside {self.features.depths} or a neighbour count "
                f"outside {self.features.neighbours}, which this estimator was not trained on"
            )
        return y

    def _forward(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        bits = self.features.encode(depths, neighbours)
        return (_fm if self.kind == "fm" else _dnn)(bits, self.weights)

    def fingerprint(self) -> str:
        """Hex sha256 of what it predicts with."""
        kind = json.dumps([self.kind, asdict(self.features)])
        return fingerprint({**self.weights, "kind": np.array(kind)})

    def save(self, path: Path | str) -> None:
        """Write one `.safetensors` file, whole or not at all."""
        from safetensors.numpy import save

        about = {
            "format": FORMAT,
            "kind": self.kind,
            "features": asdict(self.features),
            "about": self.about,
        }
        arrays = {name: np.ascontiguousarray(a) for name, a in self.weights.items()}
        with written_whole(path) as file:
            file.write(save(arrays, metadata={"elasticrec": json.dumps(about)}))

    @classmethod
    def load(cls, path: Path | str) -> Estimator:
        """The estimator that `save` wrote; needs no torch."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads((file.metadata() or {}).get("elasticrec", "{}"))
                if about.get("format") != FORMAT:
                    raise InputError(f"{path}: not an estimator, expected one that says {FORMAT!r}")
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise InputError(f"{path}: not a sound safetensors file ({error})") from None
        features = Features.from_dict(about["features"])
        return cls(features, about["kind"], weights, about["about"])


def _fm(X: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
    """(B,) Eq. 5 of bits (B, G, F), with the pairwise sum by its identity."""
    B, G, F = X.shape
    x = (X.reshape(B * G, F) @ w["code"]).reshape(B, G, w["code"].shape[1])
    x += w["group"]  # (B, G, d0), Eq. 4
    S = x.sum(axis=1)  # (B, d0)
    pairs = S * S
    pairs -= np.einsum("bgk,bgk->bk", x, x)
    pairs /= 2  # sum over g < g' of x_g * x_g'
    y: np.ndarray = _layer(pairs, w["ffn"], w["ffn_bias"]) @ w["out"] + w["bias"]
    return y + X.reshape(B, G * F) @ w["linear"] if "linear" in w else y


def _dnn(X: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
    """(B,) one hidden layer on the concatenation of all x_g; W is multiplied into the layer."""
    B, G, F = X.shape
    hidden = _layer(X.reshape(B, G * F), w["hidden"], w["hidden_bias"])
    y: np.ndarray = hidden @ w["out"] + w["bias"]
    return y


def _layer(x: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """(B, d0) one feed-forward layer with ReLU."""
    h: np.ndarray = x @ weights
    h += bias
    return np.maximum(h, 0.0, out=h)
