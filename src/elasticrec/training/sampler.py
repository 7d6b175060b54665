"""Batches of (user, seen, unseen), drawn without a Python loop, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs


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
    """Where shared items are no negatives: b·n + k for item k of the pool that user b has."""


class TripleSampler:
    """Draws batches; every epoch visits each train pair once, in an order fixed by (seed, epoch).

    Unseen items are uniform: either each example's own, rejected while the user has them (`bpr`),
    or one pool of distinct items shared by the batch, with a list of who has what of it
    (`softmax`). Of a pool of thousands every user has one or two, and as negatives they would
    weigh as much as all the others together. With `own` they stay: on sparse data that keeps users
    from settling on what they have.
    """

    def __init__(
        self,
        train: Pairs,
        *,
        batch_size: int,
        unseen: int,
        shared: bool,
        own: bool = False,
        device: str | torch.device = "cpu",
    ) -> None:
        if not len(train):
            raise ValueError("train has no pairs; expected at least one")
        self.batch_size, self.shared, self.own = batch_size, shared, own
        self.unseen = min(unseen, train.n_items) if shared else unseen
        self.n_items, self.n_pairs = train.n_items, len(train)
        self.users = torch.from_numpy(train.users).to(device)
        self.items = torch.from_numpy(train.items).to(device)
        # Pairs are sorted by user, then item, so the keys are sorted and one search finds a pair.
        self.keys = self.users.long() * train.n_items + self.items
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self._place = torch.full((train.n_items,), -1, dtype=torch.int64, device=device)
        # A GPU searches for all at once; a CPU is spared the search for nearly all that it drew.
        self._sieve = None if shared or self.keys.is_cuda else Sieve(self.keys)

    @property
    def n_batches(self) -> int:
        """Batches in an epoch; the last one may be smaller."""
        return -(-self.n_pairs // self.batch_size)

    def epoch(
        self, seed: int, epoch: int, generator: torch.Generator, skip: int = 0
    ) -> Iterator[Batch]:
        """The batches of one epoch from number `skip` on.

        Args:
            generator: draws the unseen items; its state after a batch is all that a resume needs.
        """
        device = self.users.device
        shuffle = torch.Generator(device=device).manual_seed(seed * 1_000_003 + epoch)
        order = torch.randperm(self.n_pairs, generator=shuffle, device=device)
        for start in range(skip * self.batch_size, self.n_pairs, self.batch_size):
            # By rising number, so that a user's pairs and what is looked up for her lie close.
            rows = ascending(order[start : start + self.batch_size])
            users = self.users.index_select(0, rows).long()
            seen = self.items.index_select(0, rows).long()
            if self.shared:
                pool = torch.randperm(self.n_items, generator=generator, device=device)
                pool = pool[: self.unseen]
                yield Batch(users, seen, pool, None if self.own else self._taken_of(pool, users))
            else:
                yield Batch(users, seen, self._own(users, generator))

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

        A draw that hits a taken item is drawn again, at most 16 times: a user who took nearly
        everything then keeps a taken one rather than stopping the world.
        """
        shape = (len(users), self.unseen)
        device = users.device
        unseen = torch.randint(self.n_items, shape, generator=generator, device=device)
        first = (users * self.n_items).unsqueeze(1)
        wrong = self._taken((first + unseen).view(-1))
        for _ in range(16):
            if not len(wrong):
                break
            again = torch.randint(self.n_items, wrong.shape, generator=generator, device=device)
            unseen.view(-1).index_copy_(0, wrong, again)
            keys = first.expand(shape).reshape(-1).index_select(0, wrong).add_(again)
            wrong = wrong.index_select(0, self._taken(keys))
        return unseen

    def _taken(self, keys: Tensor) -> Tensor:
        """Places of the (user, item) keys that are train pairs."""
        if self._sieve is None:
            places, few = torch.arange(len(keys), device=keys.device), keys
        else:
            places = self._sieve.left(keys)
            few = keys.index_select(0, places)
        at = torch.searchsorted(self.keys, few).clamp_(max=self.n_pairs - 1)
        return places[self.keys.index_select(0, at) == few]


class Sieve:
    """Tells at a glance of seven in eight numbers that they are not among some known ones."""

    def __init__(self, known: Tensor) -> None:
        self.bits = max(3, (8 * len(known) - 1).bit_length())
        self.marks = torch.zeros(1 << self.bits, dtype=torch.uint8, device=known.device)
        self.marks.index_fill_(0, self._hash(known), 1)

    def left(self, numbers: Tensor) -> Tensor:
        """Places of all numbers that are known, and of about one in eight that are not."""
        return self.marks.index_select(0, self._hash(numbers)).nonzero().squeeze(1)

    def _hash(self, numbers: Tensor) -> Tensor:
        """The leading bits of the numbers times 2⁶⁴ / golden ratio, which scatters them evenly."""
        scattered = numbers * -7046029254386353131
        return scattered.bitwise_right_shift_(64 - self.bits).bitwise_and_((1 << self.bits) - 1)


def ascending(numbers: Tensor) -> Tensor:
    """The numbers in rising order; on a CPU by numpy, which is several times as fast as torch."""
    if numbers.is_cuda:
        return torch.sort(numbers).values
    return torch.from_numpy(np.sort(numbers.numpy()))
