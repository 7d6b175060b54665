"""The loss of one batch: BPR or the softmax on cosines, block diversity (Eq. 3), L2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from elasticrec.training.bases import Users
from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import Leaves, Tables, unit
from elasticrec.training.sampler import Batch
from elasticrec.training.table import folded


def bpr(gaps: Tensor) -> Tensor:
    """-ln σ(gap) of each: the paper's ϱ is ln σ."""
    return softplus(-gaps)


def softmax(
    users: Users, seen: Tensor, pool: Tensor, batch: Batch, *,
    temperature: float, near: Tensor | None = None, near_weight: float = 0.0,
) -> Tensor:  # fmt: skip
    """(B,) -ln softmax of a seen item's cosine against those of the pool.

    A user's pairs share the sum over the pool, which is that of her whole vector; she asks for
    the seen item by her vector without it. An item near the seen one may count as a weighted
    second target.

    Args:
        seen: (B, D) the items taken.
        pool: (n, D) the negatives; what a user has of it counts for nothing.
        near: (B, D) items near the seen ones; any vector where there is none.
    """
    cosines = unit(users.vectors) @ unit(pool).T / temperature  # (b, n)
    if batch.taken is not None:
        cosines = cosines.view(-1).index_fill(0, batch.taken, -torch.inf).view(cosines.shape)
    others = cosines.logsumexp(dim=1).index_select(0, batch.row)  # (B,)
    asking = unit(users.asking)
    losses = softplus(others - (asking * unit(seen)).sum(dim=1) / temperature)
    if near is not None and batch.near is not None:
        second = softplus(others - (asking * unit(near)).sum(dim=1) / temperature)
        losses = losses + near_weight * second * (batch.near >= 0)
    return losses


def diversity(blocks: Tensor, form: str = "bounded") -> Tensor:
    """Mean over items of Σ_{n<n'} ‖e_n - e_n'‖² in O(N), by N·Σ‖e_n‖² - ‖Σ e_n‖².

    As printed it is unbounded below once subtracted from a loss (blocks may grow for ever), so
    `bounded` measures unit-norm blocks, where it lies between 0 and N² for any table.
    """
    if form == "bounded":
        blocks = normalize(blocks, dim=2)
    N = blocks.shape[1]
    squares = blocks.square().sum(dim=(1, 2))  # (B,)
    return (N * squares - blocks.sum(dim=1).square().sum(dim=1)).mean()


@dataclass(frozen=True)
class Vectors:
    """The vectors of one batch."""

    users: Users
    """Those of the users."""
    seen: Tensor
    """(B, D) of the items they took."""
    unseen: Tensor
    """(n, D) shared by the batch, or (B, m, D) of each example's own."""
    near: Tensor | None = None
    """(B, D) of an item that co-occurs with each seen one; any vector where there is none."""


Loss = Callable[[Vectors, Batch], Tensor]
"""The loss of a batch without L2, given its vectors and its numbers."""


@dataclass(frozen=True)
class Objective:
    """The loss that the settings name, averaged over the pairs of a batch, without L2."""

    config: TrainConfig

    def __call__(self, vectors: Vectors, batch: Batch) -> Tensor:
        """The loss of one batch."""
        config = self.config
        users = Users(*(folded(each, config) for each in vectors.users))
        seen, unseen = folded(vectors.seen, config), folded(vectors.unseen, config)
        if config.loss == "bpr":
            gaps = (users.asking[:, None, :] * (seen[:, None, :] - unseen)).sum(dim=2)  # (B, m)
            losses = bpr(gaps.amin(dim=1))
        else:
            near = None if vectors.near is None else folded(vectors.near, config)
            losses = softmax(
                users, seen, unseen, batch,
                temperature=config.temperature, near=near, near_weight=config.cooccurrence,
            )  # fmt: skip
        loss = (losses if batch.weights is None else losses * batch.weights).mean()
        if config.diversity:
            blocks = torch.cat([vectors.seen, vectors.unseen.flatten(0, -2)])
            blocks = blocks.view(len(blocks), config.n_blocks, config.block_size)
            loss = loss - config.diversity * diversity(blocks, config.diversity_form)
        return loss


def add_l2(weight: float, leaves: Leaves, grads: Tables, batch: Batch) -> None:
    """Add to gradients that of half the squared norms of a batch's rows.

    Rows of the users, the seen and the unseen items count, as often as the batch names them;
    tables of other names have none.
    """
    named = {"users": batch.users.index_select(0, batch.row), "items": torch.cat(batch.items[:2])}
    for name in named.keys() & grads.keys():
        at = leaves.places(name, named[name])
        rows = leaves.tensors[name].detach().index_select(0, at)
        grads[name].index_add_(0, at, rows, alpha=weight)
