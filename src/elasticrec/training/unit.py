"""Rows of norm 1, and products of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

_LEAST = 1e-12


def unit(vectors: Tensor) -> Tensor:
    """(n, D) rows divided by their norms; a row of zeros stays, and has no gradient."""
    found: Tensor = _Unit.apply(vectors)
    return found


class _Unit(torch.autograd.Function):
    """Needs half the passes over memory that autograd takes for a norm and a division."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        scale = inverse_norms(vectors)
        found = vectors * scale
        ctx.save_for_backward(found, scale)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return along(grads[0], *ctx.saved_tensors)


def inverse_norms(vectors: Tensor) -> Tensor:
    """(n, 1) one over the norm of each row; 0 for a row of zeros."""
    norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return torch.where(norms > _LEAST, 1 / norms, 0.0)


def along(grads: Tensor, units: Tensor, scale: Tensor, out: Tensor | None = None) -> Tensor:
    """(n, D) the gradient of rows from that of the unit rows made of them.

    Args:
        grads: (n, D) of the unit rows.
        units: (n, D) the unit rows.
        scale: (n, 1) the factors that made the rows unit rows.
        out: where to write it.
    """
    return torch.addcmul(grads, units, dots(grads, units), value=-1, out=out).mul_(scale)


def dots(one: Tensor, other: Tensor) -> Tensor:
    """(n, 1) products of rows; numpy's sum on a CPU makes them without a matrix in between."""
    if one.is_cuda:
        return (one * other).sum(dim=1, keepdim=True)
    return torch.from_numpy(np.einsum("nd,nd->n", one.numpy(), other.numpy())).unsqueeze(1)
