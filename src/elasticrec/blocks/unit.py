"""Rows of norm 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_LEAST = 1e-12


def unit(vectors: Tensor) -> Tensor:
    """(n, D) rows divided by their norms; a row of zeros stays, and has no gradient."""
    found: Tensor = _Unit.apply(vectors)
    return found


class _Unit(torch.autograd.Function):
    """Half the passes over memory that autograd makes of a norm and a division."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        scale = torch.where(norms > _LEAST, 1 / norms, 0.0)
        found = vectors * scale
        ctx.save_for_backward(found, scale)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        found, scale = ctx.saved_tensors
        along = (grads[0] * found).sum(dim=1, keepdim=True)
        return torch.addcmul(grads[0], found, along, value=-1).mul_(scale)
