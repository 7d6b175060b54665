"""Losses of the compared methods' own papers, on products of plain vectors."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from elasticrec.training.objective import Vectors


def _products(vectors: Vectors) -> tuple[Tensor, Tensor]:
    """(B,) scores of the items taken, and (B, m) of the sampled zeros."""
    seen = (vectors.users * vectors.seen).sum(dim=1)
    unseen = (vectors.users.unsqueeze(1) * vectors.unseen).sum(dim=2)
    return seen, unseen


def squares(
    vectors: Vectors, taken: Tensor | None, has_near: Tensor | None, mask: Tensor | None
) -> Tensor:
    """Gaussian likelihood of ones and sampled zeros: the sum of squared errors of each pair."""
    del taken, has_near, mask  # of other losses
    seen, unseen = _products(vectors)
    return (1 - seen).square().mean() + unseen.square().sum(dim=1).mean()


def logistic(
    vectors: Vectors, taken: Tensor | None, has_near: Tensor | None, mask: Tensor | None
) -> Tensor:
    """Cross entropy of ones and sampled zeros, as in predicting a click."""
    del taken, has_near, mask  # of other losses
    seen, unseen = _products(vectors)
    return softplus(-seen).mean() + softplus(unseen).sum(dim=1).mean()
