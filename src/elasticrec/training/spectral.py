"""First vectors: the leading singular vectors of the normalised graph."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.training.bases.lightgcn import Graph


def spectral_tables(
    graph: Graph,
    dimensions: int,
    generator: torch.Generator,
    *,
    unit: bool = True,
    power: float = 0.5,
    rounds: int = 6,
) -> tuple[Tensor, Tensor]:
    """(U, D) users and (V, D) items with norms near 1, from a randomised SVD of the graph.

    Args:
        unit: give every row the norm 1; otherwise all are scaled alike, to a root mean square
            norm of 1, and frequent users and items stay longer.
        power: singular values are raised to this before the rows are normalised.
        rounds: subspace iterations; a few are plenty, since training goes on from here.
    """
    n_users, n_items = graph.from_items.shape
    D = min(dimensions, n_users, n_items)
    width = min(D + 16, n_users, n_items)
    basis = torch.randn(n_items, width, generator=generator, device=generator.device)
    for _ in range(rounds):
        basis, _ = _orthogonal(graph.from_users @ (graph.from_items @ basis))
    images = graph.from_items @ basis  # (U, width)
    # Of the square factor, and in double precision: of the tall one it may not converge on a GPU.
    Q, R = _orthogonal(images)
    left, values, right = (x.to(images) for x in torch.linalg.svd(R.double().cpu()))
    scale = values[:D] ** power
    users = (Q @ left[:, :D]) * scale
    items = (basis @ right.T)[:, :D] * scale
    items = items + 1e-4 * torch.randn(n_items, D, generator=generator, device=items.device)
    if unit:
        users, items = normalize(users, dim=1), normalize(items, dim=1)
    else:
        users, items = (x / x.square().sum(dim=1).mean().sqrt() for x in (users, items))
    if D < dimensions:  # a tiny catalogue
        pad = torch.randn(
            n_users + n_items, dimensions - D, generator=generator, device=users.device
        )
        users = torch.cat([users, pad[:n_users] * 0.01], dim=1)
        items = torch.cat([items, pad[n_users:] * 0.01], dim=1)
    # The singular vectors came column by column; training reads whole rows.
    return users.contiguous(), items.contiguous()


def _orthogonal(x: Tensor) -> tuple[Tensor, Tensor]:
    """Q and R of a tall matrix; from the CPU where a GPU's are not finite.

    A GPU that several processes share now and then gives NaN for finite matrices.
    """
    Q, R = torch.linalg.qr(x)
    if not (Q.isfinite().all() and R.isfinite().all()):
        Q, R = (part.to(x) for part in torch.linalg.qr(x.double().cpu()))
    return Q, R
