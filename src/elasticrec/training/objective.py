"""The loss of one batch: recommendation, co-occurrence, elastic masks, diversity, L2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elasticrec.training.bases import Parts, Tables
from elasticrec.training.cosine import CosineSoftmax
from elasticrec.training.losses import bpr, diversity
from elasticrec.training.config import TrainConfig
from elasticrec.training.optimizer import Touched


@dataclass(frozen=True)
class Vectors:
    """The vectors that one batch is about."""

    users: Tensor
    """(B, D)."""
    seen: Tensor
    """(B, D) of the items they took."""
    unseen: Tensor
    """(n, D) shared by the batch, or (B, m, D) of each example's own."""
    near: Tensor | None = None
    """(B, D) of an item that co-occurs with each seen one, whatever it is where there is none."""
    units: bool = False
    """Whether the items' vectors have norm 1."""


Loss = Callable[[Vectors, Tensor | None, Tensor | None, Tensor | None], Tensor]
"""The loss of a batch without L2, of what `Objective.__call__` takes."""


class Objective:
    """What a step minimises, averaged over the pairs of the batch."""

    def __init__(self, config: TrainConfig, n_items: int) -> None:
        self.config = config
        share = math.log(n_items / min(config.negatives, n_items)) if config.correction else 0.0
        self.softmax = CosineSoftmax(config.temperature, config.cooccurrence, share)

    def __call__(
        self, vectors: Vectors, taken: Tensor | None, has_near: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """The loss without L2.

        Args:
            taken: where shared items are no negatives, as in `Batch`.
            has_near: (B,) whether an item co-occurs with the seen one.
            mask: (D,) ones and zeros of an elastic mask, or None.
        """
        config = self.config
        loss = self._loss(vectors, taken, has_near, None)
        if mask is not None:
            loss = loss + config.elastic * self._loss(vectors, taken, has_near, mask)
        if config.diversity:
            blocks = torch.cat([vectors.seen, vectors.unseen.flatten(0, -2)])
            blocks = blocks.view(len(blocks), config.n_blocks, config.block_size)
            loss = loss - config.diversity * diversity(blocks, config.diversity_form)
        return loss

    def _loss(
        self, vectors: Vectors, taken: Tensor | None, has_near: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """The recommendation loss on the blocks that the mask keeps."""
        u, i, j = (self._fold(x, mask) for x in (vectors.users, vectors.seen, vectors.unseen))
        if self.config.loss == "bpr":
            gaps = (u[:, None, :] * (i[:, None, :] - j)).sum(dim=2)  # (B, m)
            return bpr(gaps.amin(dim=1))
        loss = self.softmax
        if vectors.units and mask is None and self.config.score == "aligned":
            loss = replace(loss, units=True)
        c = None if vectors.near is None else self._fold(vectors.near, mask)
        return loss(u, i, j, near=c, has_near=has_near, left_out=taken)

    def _fold(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        """Vectors as they are scored: masked, and summed over blocks where the score is tiled."""
        if mask is not None:
            vectors = vectors * mask
        if self.config.score == "tiled":
            *shape, _ = vectors.shape
            vectors = vectors.reshape(*shape, self.config.n_blocks, self.config.block_size).sum(-2)
        return vectors


def add_l2(
    weight: float, tables: Tables, grads: Tables, numbers: Parts, rows: Parts,
    touched: dict[str, Touched],
) -> None:  # fmt: skip
    """Add to gradients that of half the squared norms of a batch's trainable rows.

    Args:
        weight: of a row, each time that the batch uses it.
        tables: whole tables, to whose gradients `grads` it is added at the rows `numbers`; those
            that have neither users nor items for rows are spared.
        rows: rows of the other tables, part by part, to whose gradients in `touched` it is added.
    """
    for name, table in tables.items():
        for at in numbers.get(name, []):
            grads[name].index_add_(0, at, table.index_select(0, at).mul_(weight))
    for name, parts in rows.items():
        for place in range(len(numbers[name])):
            at, grad = touched[name][place]
            touched[name][place] = at, torch.add(grad, parts[place], alpha=weight)


def draw_mask(config: TrainConfig, generator: torch.Generator) -> Tensor:
    """(D,) an elastic mask: a uniform number of blocks, then which ones."""
    device = generator.device
    width = int(torch.randint(1, config.n_blocks + 1, (1,), generator=generator, device=device))
    kept = torch.randperm(config.n_blocks, generator=generator, device=device)[:width]
    mask = torch.zeros(config.n_blocks, device=device)
    mask[kept] = 1.0
    return mask.repeat_interleave(config.block_size)


def learning_rate(config: TrainConfig, step: int, n_steps: int) -> float:
    """The learning rate of a step of all steps, counted from 0."""
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * step / n_steps))
