"""Batches of users, items they took and items they did not, drawn without a Python loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import ascending


@dataclass(frozen=True)
class Batch:
    """One step's examples."""

    users: Tensor
    """(B,) int64."""
    seen: Tensor
    """(B,) int64: an item each user took."""
    unseen: Tensor
    """(n,) int64 shared by the whole batch, or (B, m) int64 of each example's own."""
    taken: Tensor | None = None
    """Shared items that are no negatives: b·n + k for item k of the pool that user b has."""
    near: Tensor | None = None
    """(B,) int64: an item that co-occurs with each seen one, -1 where there is none."""

    @property
    def items(self) -> list[Tensor]:
        """Item numbers part by part: seen, unseen (flat) and, where drawn, near ones."""
        parts = [self.seen, self.unseen.reshape(-1)]
        return parts if self.near is None else [*parts, self.near.clamp(min=0)]


class Sampler:
    """Draws batches; every epoch visits each train pair once, in an order fixed by (seed, epoch).

    Pairs with weights are visited in proportion to them: as many visits in all, a pair of twice
    the mean weight twice in an epoch, one of half of it in every second epoch on average.

    Unseen items are uniform: either each example's own, drawn again while the user has them
    (`bpr`), or one pool of distinct items shared by the batch, with a list of who has what of it
    (`softmax`). Of a pool of thousands every user has one or two; as negatives they would weigh
    as much as all the others together.
    """

    def __init__(
        self,
        train: Pairs,
        *,
        batch_size: int,
        unseen: int,
        shared: bool,
        near: np.ndarray | None = None,
        permuted: int = TrainConfig.permuted,
        redraws: int = TrainConfig.redraws,
        device: str | torch.device = "cpu",
    ) -> None:
        """A sampler of train pairs.

        Args:
            unseen: items per batch if they are shared, else per pair.
            near: (V, k) co-occurring items of each item, of which one is drawn per pair.
            permuted, redraws: as in `TrainConfig`.
        """
        if not len(train):
            raise InputError("train has no pairs; expected at least one")
        self.batch_size, self.shared = batch_size, shared
        self.permuted, self.redraws = permuted, redraws
        self.unseen = min(unseen, train.n_items) if shared else unseen
        self.n_items, self.n_pairs = train.n_items, len(train)
        self.users = torch.from_numpy(train.users).to(device)
        self.items = torch.from_numpy(train.items).to(device)
        # Pairs are sorted by user, then item, so the keys are sorted and one search finds a pair.
        self.keys = self.users.long() * train.n_items + self.items
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        # Ends of the pairs' shares of the visits of an epoch, which has one visit per whole number.
        self.shares = None if train.weights is None else torch.from_numpy(_shares(train)).to(device)
        self.near = None if near is None else torch.from_numpy(near.astype(np.int64)).to(device)
        self._place = torch.full((train.n_items,), -1, dtype=torch.int64, device=device)

    @property
    def n_batches(self) -> int:
        """Batches in an epoch; the last one may be smaller."""
        return -(-self.n_pairs // self.batch_size)

    def epoch(
        self, seed: int, epoch: int, generator: torch.Generator, skip: int = 0
    ) -> Iterator[Batch]:
        """The batches of one epoch from number `skip` on.

        Args:
            generator: draws unseen and near items; a resume needs its state after a batch.
        """
        device = self.users.device
        shuffle = torch.Generator(device=device).manual_seed(seed * 1_000_003 + epoch)
        order = torch.randperm(self.n_pairs, generator=shuffle, device=device)
        if self.shares is not None:
            within = torch.rand((), generator=shuffle, device=device, dtype=torch.float64)
            order = torch.searchsorted(self.shares, order + within, right=True).clamp_(
                max=self.n_pairs - 1
            )
        for start in range(skip * self.batch_size, self.n_pairs, self.batch_size):
            # By rising number, so that a user's pairs and what is looked up for her lie close.
            rows = ascending(order[start : start + self.batch_size])
            users = self.users.index_select(0, rows).long()
            seen = self.items.index_select(0, rows).long()
            taken = None
            if self.shared:
                unseen = self._pool(generator)
                taken = self._taken_of(unseen, users)
            else:
                unseen = self._own(users, generator)
            yield Batch(users, seen, unseen, taken, self._near(seen, generator))

    def _pool(self, generator: torch.Generator) -> Tensor:
        """(n,) distinct uniform items, ascending; of many items a few less than asked for."""
        device = self.users.device
        if self.n_items <= self.permuted * self.unseen:
            order = torch.randperm(self.n_items, generator=generator, device=device)
            return ascending(order[: self.unseen])
        drawn = torch.randint(self.n_items, (self.unseen,), generator=generator, device=device)
        return torch.unique(drawn)

    def _near(self, seen: Tensor, generator: torch.Generator) -> Tensor | None:
        """(B,) one of each seen item's co-occurring items, -1 where there is none."""
        if self.near is None:
            return None
        k = self.near.shape[1]
        column = torch.randint(k, seen.shape, generator=generator, device=seen.device)
        return self.near.view(-1).index_select(0, seen * k + column)

    def _taken_of(self, pool: Tensor, users: Tensor) -> Tensor:
        """b·n + k for every user b of the batch and item k of the pool that she has."""
        n = len(pool)
        self._place.index_copy_(0, pool, torch.arange(n, device=pool.device))
        counts = self.counts.index_select(0, users)
        ends = torch.cumsum(counts, 0)
        shift = self.starts.index_select(0, users) - ends + counts
        shift = torch.repeat_interleave(shift, counts)  # one entry per user and item of hers
        at = shift + torch.arange(len(shift), device=shift.device)
        column = self._place.index_select(0, self.items.index_select(0, at))
        self._place.index_fill_(0, pool, -1)
        hits = (column >= 0).nonzero().squeeze(1)
        row = torch.searchsorted(ends, hits, right=True)
        return row * n + column.index_select(0, hits)

    def _own(self, users: Tensor, generator: torch.Generator) -> Tensor:
        """(B, m) uniform items that the users have not taken.

        A draw that hits a taken item is drawn again, but not for ever: a user who took nearly
        everything then keeps a taken one.
        """
        shape = (len(users), self.unseen)
        device = users.device
        unseen = torch.randint(self.n_items, shape, generator=generator, device=device)
        first = (users * self.n_items).unsqueeze(1)
        wrong = self._taken((first + unseen).view(-1))
        for _ in range(self.redraws):
            if not len(wrong):
                break
            again = torch.randint(self.n_items, wrong.shape, generator=generator, device=device)
            unseen.view(-1).index_copy_(0, wrong, again)
            keys = first.expand(shape).reshape(-1).index_select(0, wrong).add_(again)
            wrong = wrong.index_select(0, self._taken(keys))
        return unseen

    def _taken(self, keys: Tensor) -> Tensor:
        """Places of the (user, item) keys that are train pairs."""
        at = torch.searchsorted(self.keys, keys).clamp_(max=self.n_pairs - 1)
        return (self.keys.index_select(0, at) == keys).nonzero().squeeze(1)


def _shares(train: Pairs) -> np.ndarray:
    """(n,) float64 running sums of the weights, scaled to end at the number of pairs."""
    assert train.weights is not None
    ends = np.cumsum(train.weights.astype(np.float64))
    shares: np.ndarray = ends * (len(train) / ends[-1])
    return shares
