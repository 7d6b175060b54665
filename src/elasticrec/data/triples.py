"""Batches of (user, seen, unseen), drawn without a Python loop, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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


class TripleSampler:
    """Draws batches; every epoch visits each train pair once, in an order fixed by (seed, epoch).

    Unseen items are either each example's own, rejected while the user has them (`bpr`), or one
    pool shared by the batch (`softmax`). Shared pools are drawn in proportion to popularity to
    the power `power`: 0 is uniform, 1 is what in-batch negatives would be.
    """

    def __init__(
        self,
        train: Pairs,
        *,
        batch_size: int,
        unseen: int,
        shared: bool,
        power: float = 0.0,
        device: str | torch.device = "cpu",
    ) -> None:
        if not len(train):
            raise ValueError("train has no pairs; expected at least one")
        self.batch_size, self.unseen, self.shared = batch_size, unseen, shared
        self.n_items, self.n_pairs = train.n_items, len(train)
        self.users = torch.from_numpy(train.users).to(device)
        self.items = torch.from_numpy(train.items).to(device)
        # Pairs are sorted by user, then item, so the keys are sorted and one search finds a pair.
        self.keys = self.users.long() * train.n_items + self.items
        popularity = torch.bincount(self.items, minlength=train.n_items).double()
        weights = popularity.clamp(min=1.0) ** power
        self.chance = (weights / weights.sum()).to(torch.float32)
        self._ends = torch.cumsum(weights, 0) / weights.sum() if power else None

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
            rows = order[start : start + self.batch_size]
            users, seen = self.users[rows].long(), self.items[rows].long()
            if self.shared:
                unseen = self._pool(self.unseen, generator)
            else:
                unseen = self._own(users, generator)
            yield Batch(users, seen, unseen)

    def _pool(self, n: int, generator: torch.Generator) -> Tensor:
        """(n,) items by popularity to the power, with replacement."""
        device = self.users.device
        if self._ends is None:
            return torch.randint(self.n_items, (n,), generator=generator, device=device)
        points = torch.rand(n, generator=generator, device=device, dtype=torch.float64)
        return torch.searchsorted(self._ends, points).clamp(max=self.n_items - 1)

    def _own(self, users: Tensor, generator: torch.Generator) -> Tensor:
        """(B, m) uniform items that the users have not taken.

        A draw that hits a taken item is drawn again, at most 16 times: a user who took nearly
        everything then keeps a taken one rather than stopping the world.
        """
        shape = (len(users), self.unseen)
        base = users[:, None] * self.n_items
        unseen = torch.randint(self.n_items, shape, generator=generator, device=users.device)
        taken = self._taken(base + unseen)
        for _ in range(16):
            if not taken.any():
                break
            again = torch.randint(
                self.n_items, (int(taken.sum()),), generator=generator, device=users.device
            )
            unseen[taken] = again
            taken = self._taken(base + unseen)
        return unseen

    def _taken(self, keys: Tensor) -> Tensor:
        """Which (user, item) keys are train pairs."""
        at = torch.searchsorted(self.keys, keys).clamp(max=self.n_pairs - 1)
        return self.keys[at] == keys
