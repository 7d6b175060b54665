"""The loss of one batch: recommendation, co-occurrence, elastic masks, diversity, L2."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.blocks.bases import Tables
from elasticrec.blocks.losses import bpr, diversity, softmax
from elasticrec.data.triples import Batch
from elasticrec.training.config import TrainConfig


class Objective:
    """What a step minimises, averaged over the pairs of the batch."""

    def __init__(self, config: TrainConfig, chance: Tensor) -> None:
        """
        Args:
            chance: (V,) how likely each item is to be one sampled item.
        """
        self.config = config
        self.log_expected = torch.log(chance * config.negatives)  # of each item per step

    def __call__(
        self, users: Tensor, items: Tensor, batch: Batch, near: Tensor | None,
        sampled: Tensor, mask: Tensor | None,
    ) -> Tensor:  # fmt: skip
        """The loss without L2.

        Args:
            users: (B, D) the batch's users.
            items: item vectors that `batch` and `near` point into.
            near: (B,) an item that co-occurs with each seen one, -1 where there is none.
            sampled: the sampled items' true numbers, for the correction.
            mask: (D,) ones and zeros of an elastic mask, or None.
        """
        config = self.config
        seen = items[batch.seen]
        unseen = items[batch.unseen]
        loss = self._recommend(users, seen, unseen, near, items, sampled, None)
        if mask is not None:
            masked = self._recommend(users, seen, unseen, near, items, sampled, mask)
            loss = loss + config.elastic * masked
        if config.diversity:
            blocks = torch.cat([seen, unseen.reshape(-1, seen.shape[1])])
            blocks = blocks.view(len(blocks), config.n_blocks, config.block_size)
            loss = loss - config.diversity * diversity(blocks, config.diversity_form)
        return loss

    def _recommend(
        self, users: Tensor, seen: Tensor, unseen: Tensor, near: Tensor | None,
        items: Tensor, sampled: Tensor, mask: Tensor | None,
    ) -> Tensor:  # fmt: skip
        config = self.config
        u, i, j = self._fold(users, mask), self._fold(seen, mask), self._fold(unseen, mask)
        if config.loss == "bpr":
            others = (j @ u[:, :, None]).squeeze(2)  # (B, m)
            return bpr((u * i).sum(dim=1), others.amax(dim=1))
        u, i, j = (normalize(x, dim=1) for x in (u, i, j))
        logits = u @ j.T / config.temperature  # (B, n)
        if config.correction:
            logits = logits - self.log_expected[sampled]
        log_others = torch.logsumexp(logits, dim=1)
        loss = softmax((u * i).sum(dim=1) / config.temperature, log_others).mean()
        if near is None:
            return loss
        c = normalize(self._fold(items[near.clamp(min=0)], mask), dim=1)
        soft = softmax((u * c).sum(dim=1) / config.temperature, log_others)
        return loss + config.cooccurrence * torch.where(near >= 0, soft, 0.0).mean()

    def _fold(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        """Vectors as they are scored: masked, and summed over blocks where the score is tiled."""
        if mask is not None:
            vectors = vectors * mask
        if self.config.score == "tiled":
            *shape, _ = vectors.shape
            vectors = vectors.reshape(*shape, self.config.n_blocks, self.config.block_size).sum(-2)
        return vectors


def l2_penalty(tables: Tables, batch: Batch, weight: float) -> Tensor:
    """Half the squared norms of the batch's trainable rows, per pair (LightGCN's usual L2)."""
    rows = [tables["items"][batch.seen], tables["items"][batch.unseen.reshape(-1)]]
    if "users" in tables:
        rows.append(tables["users"][batch.users])
    return weight / 2 * sum((r.square().sum() for r in rows), torch.zeros(())) / len(batch.seen)


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
