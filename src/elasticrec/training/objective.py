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

    def __init__(self, config: TrainConfig, n_items: int) -> None:
        self.config = config
        self.log_share = math.log(n_items / min(config.negatives, n_items))

    def __call__(
        self, users: Tensor, items: Tensor, batch: Batch, near: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """The loss without L2.

        Args:
            users: (B, D) the batch's users.
            items: item vectors that `batch` and `near` point into.
            near: (B,) an item that co-occurs with each seen one, -1 where there is none.
            mask: (D,) ones and zeros of an elastic mask, or None.
        """
        config = self.config
        seen = items.index_select(0, batch.seen)
        unseen = items.index_select(0, batch.unseen.reshape(-1)).view(*batch.unseen.shape, -1)
        soft = None if near is None else items.index_select(0, near.clamp(min=0))
        loss = torch.zeros((), device=users.device)
        for kept, weight in ((None, 1.0), (mask, config.elastic)):
            if kept is None and weight != 1.0:
                continue
            u, i, j = (self._fold(x, kept) for x in (users, seen, unseen))
            if config.loss == "bpr":
                others = (j @ u[:, :, None]).squeeze(2)  # (B, m)
                loss = loss + weight * bpr((u * i).sum(dim=1), others.amax(dim=1))
                continue
            c = None if soft is None else self._fold(soft, kept)
            loss = loss + weight * self._softmax(u, i, j, c, batch.taken, near)
        if config.diversity:
            blocks = torch.cat([seen, unseen.reshape(-1, seen.shape[1])])
            blocks = blocks.view(len(blocks), config.n_blocks, config.block_size)
            loss = loss - config.diversity * diversity(blocks, config.diversity_form)
        return loss

    def _softmax(
        self, u: Tensor, i: Tensor, j: Tensor, c: Tensor | None,
        taken: Tensor | None, near: Tensor | None,
    ) -> Tensor:  # fmt: skip
        """Softmax on cosines of users u and seen i against the pool j, and softly of c."""
        u = normalize(u, dim=1) / self.config.temperature
        i, j = normalize(i, dim=1), normalize(j, dim=1)
        logits = u @ j.T  # (B, n)
        if taken is not None:
            logits.view(-1).index_fill_(0, taken, -torch.inf)
        log_others = torch.logsumexp(logits, dim=1)
        if self.config.correction:
            log_others = log_others + self.log_share
        loss = softmax((u * i).sum(dim=1), log_others).mean()
        if c is None or near is None:
            return loss
        soft = softmax((u * normalize(c, dim=1)).sum(dim=1), log_others)
        return loss + self.config.cooccurrence * torch.where(near >= 0, soft, 0.0).mean()

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
    items = torch.cat([batch.seen, batch.unseen.reshape(-1)])
    rows = [tables["items"].index_select(0, items)]
    if "users" in tables:
        rows.append(tables["users"].index_select(0, batch.own))
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
