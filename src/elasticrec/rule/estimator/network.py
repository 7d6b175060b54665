"""The estimator's two forms in torch, for training (Eq. 4 and 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import relu


class FM(nn.Module):
    """Factorised pairs of groups: w·FFN(Σ_{g<g'} x_g ⊙ x_g') + b, x_g = W·[one-hot(g), bits].

    The paper leaves FFN's activation open: ReLU. The linear term, one weight per group and bit, is
    ours: Eq. 5 has none. So is `smooth`: what depends on the group is made of so many curves over
    the groups' order, so that neighbouring groups are worth about the same. Few held-out items lie
    in each group, and weights of its own would learn by heart which of them happen to.
    """

    def __init__(
        self,
        bits: Tensor,
        width: int,
        *,
        linear: bool,
        smooth: int = 0,
        generator: torch.Generator,
    ) -> None:
        """A network for bits (n, G, F) such as these, d0 = `width` wide.

        They set the first weights' scale: each x_g starts with mean 0, the pairs with spread 1.
        """
        super().__init__()
        _, G, F = bits.shape
        code = _normal((F, width), bits, generator)
        group = _normal((G, width), bits, generator) / 2 - bits.mean(dim=0) @ code
        spread = pairwise(bits @ code + group).std(dim=0).mean().sqrt()
        spread = torch.where(spread > 0, spread, 1.0)
        curves = torch.eye(G) if not 0 < smooth < G else torch.from_numpy(group_curves(G, smooth))
        self.register_buffer("curves", curves.to(bits.device))  # (G, m)
        self.code = nn.Parameter(code / spread)
        self.group = nn.Parameter(self._curves.T @ (group / spread))  # (m, d0)
        self.ffn = nn.Parameter(_normal((width, width), bits, generator) / width**0.5)
        self.ffn_bias = nn.Parameter(torch.zeros(width, device=bits.device))
        self.out = nn.Parameter(_normal((width,), bits, generator) / width**0.5)
        self.bias = nn.Parameter(torch.zeros((), device=bits.device))
        m = curves.shape[1]
        self.linear = nn.Parameter(torch.zeros((m, F), device=bits.device)) if linear else None

    @property
    def _curves(self) -> Tensor:
        curves = self.curves
        assert isinstance(curves, Tensor)
        return curves

    def forward(self, bits: Tensor) -> Tensor:
        """(B,) estimates from bits (B, G, F)."""
        x = bits @ self.code + self._curves @ self.group  # (B, G, d0)
        y = relu(pairwise(x) @ self.ffn + self.ffn_bias) @ self.out + self.bias
        if self.linear is None:
            return y
        return y + bits.flatten(1) @ (self._curves @ self.linear).flatten()

    def weights(self) -> dict[str, Tensor]:
        """The parameters by name, those that depend on the group spelled out for every group."""
        named: dict[str, Tensor] = dict(self.named_parameters())
        named["group"] = self._curves @ self.group
        if self.linear is not None:
            named["linear"] = (self._curves @ self.linear).flatten()
        return named


def group_curves(n_groups: int, n_curves: int) -> np.ndarray:
    """(G, m) float32 orthonormal columns: cosines over the groups' order, finer at its beginning.

    The first groups differ most where groups go by popularity, so the order is taken on a
    logarithmic scale.
    """
    place = np.log1p(np.arange(n_groups)) / np.log1p(n_groups - 1 or 1)
    waves = np.cos(np.pi * place[:, None] * np.arange(n_curves))
    orthonormal, _ = np.linalg.qr(waves)
    return orthonormal.astype(np.float32)


class DNN(nn.Module):
    """DNNEst: one hidden layer (ReLU) on the concatenation of all x_g."""

    def __init__(self, bits: Tensor, width: int, *, generator: torch.Generator) -> None:
        """A network for bits (n, G, F) such as these, d0 = `width` wide."""
        super().__init__()
        _, G, F = bits.shape
        self.code = nn.Parameter(_normal((F, width), bits, generator) / F**0.5)
        self.group = nn.Parameter(-bits.mean(dim=0) @ self.code.data)
        self.layer = nn.Parameter(_normal((G, width, width), bits, generator) / (G * width) ** 0.5)
        self.layer_bias = nn.Parameter(torch.zeros(width, device=bits.device))
        self.out = nn.Parameter(_normal((width,), bits, generator) / width**0.5)
        self.bias = nn.Parameter(torch.zeros((), device=bits.device))

    def forward(self, bits: Tensor) -> Tensor:
        """(B,) estimates from bits (B, G, F)."""
        w = self.weights()
        return relu(bits.flatten(1) @ w["hidden"] + w["hidden_bias"]) @ self.out + self.bias

    def weights(self) -> dict[str, Tensor]:
        """The parameters with W multiplied into the layer: exact, and cheaper than both."""
        hidden = self.code @ self.layer  # (G, F, d0)
        bias = torch.einsum("gk,gkh->h", self.group, self.layer) + self.layer_bias
        return {
            "hidden": hidden.flatten(0, 1),
            "hidden_bias": bias,
            "out": self.out,
            "bias": self.bias,
        }


def pairwise(x: Tensor) -> Tensor:
    """(B, d0) sums over g < g' of x_g ⊙ x_g' for x (B, G, d0), by ½[(Σx)² - Σx²]."""
    S = x.sum(dim=1)
    return (S * S - (x * x).sum(dim=1)) / 2


def export(network: FM | DNN, *, mean: float, scale: float) -> dict[str, np.ndarray]:
    """float64 weights for `model.Estimator`, which undo that targets were (y - mean) / scale."""
    weights = {
        name: value.detach().cpu().numpy().astype(np.float64)
        for name, value in network.weights().items()
    }
    for name in ("out", "bias", "linear"):
        if name in weights:
            weights[name] = weights[name] * scale
    weights["bias"] = np.asarray(weights["bias"] + mean)
    return weights


def _normal(shape: tuple[int, ...], like: Tensor, generator: torch.Generator) -> Tensor:
    """Normal numbers drawn on the CPU, so that every device starts from the same ones."""
    return torch.randn(shape, generator=generator).to(like.device)


def build(kind: str, bits: Tensor, width: int, **settings: Any) -> FM | DNN:
    """The network of a kind: `fm` or `dnn`."""
    if kind == "fm":
        return FM(bits, width, **settings)
    settings.pop("linear", None)
    settings.pop("smooth", None)
    return DNN(bits, width, **settings)
