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
    """(b,) int64, distinct and rising."""
    seen: Tensor
    """(B,) int64: items that they took, user by user."""
    row: Tensor
    """(B,) int64: the place in `users` of who took each, rising."""
    unseen: Tensor
    """(n,) int64 shared by the whole batch, or (B, m) int64 of each example's own."""
    taken: Tensor | None = None
    """Shared items that are no negatives: r·n + k for item k of the pool that user r has."""
    near: Tensor | None = None
    """(B,) int64: an item that co-occurs with each seen one, -1 where there is none."""
    weights: Tensor | None = None
    """(B,) float32 weights of the pairs, 1 on average; None if all weigh alike."""

    @property
    def items(self) -> list[Tensor]:
        """Item numbers part by part: seen, unseen (flat) and, where drawn, near ones."""
        parts = [self.seen, self.unseen.reshape(-1)]
        return parts if self.near is None else [*parts, self.near.clamp(min=0)]

    @property
    def counts(self) -> dict[str, int]:
        """By table, how many numbers of rows there are."""
        return {"users": len(self.users), "items": sum(map(len, self.items))}

    def share(self, number: int, of: int) -> Batch:
        """One of several shares: users with all that is theirs, pairs in about equal numbers."""
        B, n = len(self.seen), len(self.unseen)
        ends = (B * number // of, B * (number + 1) // of)
        low, high = (int(self.row[end]) if end < B else len(self.users) for end in ends)
        first, last = torch.searchsorted(self.row, self.row.new_tensor([low, high])).tolist()
        shared, taken = self.unseen.ndim == 1, self.taken
        if taken is not None:
            taken = taken[(taken >= low * n) & (taken < high * n)] - low * n
        return Batch(
            self.users[low:high], self.seen[first:last], self.row[first:last] - low,
            self.unseen if shared else self.unseen[first:last], taken,
            None if self.near is None else self.near[first:last],
            None if self.weights is None else self.weights[first:last],
        )  # fmt: skip


class Sampler:
    """Draws batches; every epoch visits each train pair once, in an order fixed by (seed, epoch).

    A batch is either the next pairs of a shuffled list, or the next users of one with all their
    items, until it is full. Pairs that have weights carry them along.

    Unseen items are uniform: either each example's own, drawn again while the user has them
    (`bpr`), or one pool of distinct items shared by the batch, with a list of who has what of it
    (`softmax`). Of a pool of thousands every user has one or two; as negatives they would weigh
    as much as all the others together.
    """

    def __init__(
        self, train: Pairs, config: TrainConfig, *, whole_users: bool = False,
        near: np.ndarray | None = None, device: str | torch.device = "cpu",
    ) -> None:  # fmt: skip
        """A sampler of train pairs.

        Args:
            whole_users: draw users with all their items.
            near: (V, k) co-occurring items of each item, of which one is drawn per pair.
        """
        if not len(train):
            raise InputError("train has no pairs; expected at least one")
        self.config, self.batch_size = config, config.batch_size
        self.shared = config.loss == "softmax"
        self.unseen = min(config.negatives, train.n_items) if self.shared else config.negatives
        self.n_items, self.n_pairs, self.whole_users = train.n_items, len(train), whole_users
        self.users = torch.from_numpy(train.users).to(device)
        self.items = torch.from_numpy(train.items).to(device)
        if not self.shared:
            # Pairs are sorted by user, then item, so keys are sorted and one search finds a pair.
            self.keys = self.users.long() * train.n_items + self.items
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self.weights = None
        if train.weights is not None:
            shares = train.weights.astype(np.float64) / train.weights.mean(dtype=np.float64)
            self.weights = torch.from_numpy(shares.astype(np.float32)).to(device)
        self.near = None if near is None else torch.from_numpy(near.astype(np.int64)).to(device)
        self._place = torch.full((train.n_items,), -1, dtype=torch.int64, device=device)

    @property
    def n_batches(self) -> int:
        """Batches in an epoch; of whole users, at most."""
        return -(-self.n_pairs // self.batch_size)

    def epoch(
        self, seed: int, epoch: int, generator: torch.Generator, skip: int = 0
    ) -> Iterator[Batch]:
        """The batches of one epoch from number `skip` on.

        The generator draws unseen and near items; a resume needs its state after a batch.
        """
        shuffle = torch.Generator(device=self.users.device).manual_seed(seed * 1_000_003 + epoch)
        if self.whole_users:
            for users in self._users(shuffle)[skip:]:
                yield self._batch(self._pairs_of(ascending(users))[1], generator)
        else:
            order = torch.randperm(self.n_pairs, generator=shuffle, device=self.users.device)
            for start in range(skip * self.batch_size, self.n_pairs, self.batch_size):
                # By rising number, so that a user's pairs and what is looked up for her lie close.
                yield self._batch(ascending(order[start : start + self.batch_size]), generator)

    def _users(self, shuffle: torch.Generator) -> list[Tensor]:
        """All users with items in a new order, batch by batch."""
        able = self.counts.nonzero().squeeze(1)
        order = torch.randperm(len(able), generator=shuffle, device=able.device)
        users = able.index_select(0, order)
        ends = torch.cumsum(self.counts.index_select(0, users), 0)
        _, sizes = torch.unique_consecutive((ends - 1) // self.batch_size, return_counts=True)
        return list(users.split(sizes.tolist()))

    def _pairs_of(self, users: Tensor) -> tuple[Tensor, Tensor]:
        """All pairs of some users: the place of each one's user, rising, and its number."""
        counts = self.counts.index_select(0, users)
        row = torch.repeat_interleave(counts)
        shift = self.starts.index_select(0, users) - torch.cumsum(counts, 0) + counts
        return row, shift.index_select(0, row).add_(torch.arange(len(row), device=row.device))

    def _batch(self, at: Tensor, generator: torch.Generator) -> Batch:
        """The batch of some pairs, by rising number, with what is drawn for them."""
        seen = self.items.index_select(0, at).long()
        users, row = torch.unique_consecutive(self.users.index_select(0, at), return_inverse=True)
        users, taken = users.long(), None
        if self.shared:
            unseen = self._pool(generator)
            taken = self._taken_of(unseen, users)
        else:
            unseen = self._own(users.index_select(0, row), generator)
        weights = None if self.weights is None else self.weights.index_select(0, at)
        return Batch(users, seen, row, unseen, taken, self._near(seen, generator), weights)

    def _pool(self, generator: torch.Generator) -> Tensor:
        """(n,) distinct uniform items, ascending; of many items a few less than asked for."""
        device = self.users.device
        if self.n_items <= self.config.permuted * self.unseen:
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
        """r·n + k for every user r of the batch and item k of the pool that she has."""
        n = len(pool)
        self._place.index_copy_(0, pool, torch.arange(n, device=pool.device))
        row, at = self._pairs_of(users)
        column = self._place.index_select(0, self.items.index_select(0, at))
        self._place.index_fill_(0, pool, -1)
        hits = (column >= 0).nonzero().squeeze(1)
        return row.index_select(0, hits) * n + column.index_select(0, hits)

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
        for _ in range(self.config.redraws):
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
