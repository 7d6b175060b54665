"""The base `history`: the user is the normalised sum of her items, so there is no user table."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Leaves, Tables
from elasticrec.training.rows import along, ascending, inverse_norms, take, unit
from elasticrec.training.sampler import Batch


class Histories:
    """Every user's train items on one device, ready to be summed for any batch of users."""

    def __init__(self, train: Pairs, device: str | torch.device = "cpu") -> None:
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self.items = torch.from_numpy(train.items.astype("int64")).to(device)

    def everyone(self, items: Tensor) -> Tensor:
        """(U, D) normalised sum of the unit vectors of every user's items."""
        return unit(embedding_bag(self.items, unit(items), self.starts, mode="sum"))

    def bags(self, users: Tensor) -> Bags:
        """The items of some users, one bag for each run of equal users."""
        users, place, repeats = torch.unique_consecutive(
            users, return_inverse=True, return_counts=True
        )
        counts = self.counts.index_select(0, users)
        offsets = torch.cumsum(counts, 0) - counts
        numbers = torch.arange(len(users), device=users.device)
        bag = torch.repeat_interleave(numbers, counts)
        shift = (self.starts.index_select(0, users) - offsets).index_select(0, bag)
        items = self.items.index_select(0, shift.add_(torch.arange(len(bag), device=bag.device)))
        return Bags(items, bag, offsets, place, torch.cumsum(repeats, 0) - repeats)


class Bags(NamedTuple):
    """The items to sum, bag by bag, and the bag of each example."""

    items: Tensor
    """(n,) items, bag by bag."""
    bag: Tensor
    """(n,) the bag of each."""
    offsets: Tensor
    """(b,) where each bag begins."""
    place: Tensor
    """(B,) the bag of each example."""
    firsts: Tensor
    """(b,) the first example of each bag."""


def sum_of_others(units: Tensor, seen: Tensor, bags: Bags) -> Tensor:
    """(B, D) normalised sum of the unit vectors in each example's bag but the seen one.

    Args:
        units: (m, D) unit vectors of the items that `bags` names.
        seen: (B, D) unit vectors of the seen items.
    """
    found: Tensor = _Others.apply(units, seen, bags)
    return found


class _Others(torch.autograd.Function):
    """Sums of rows less one row, normalised; the gradient is such sums again, by item."""

    @staticmethod
    def forward(ctx: Any, units: Tensor, seen: Tensor, bags: Bags) -> Tensor:
        sums = embedding_bag(bags.items, units, bags.offsets, mode="sum")
        rest = sums.index_select(0, bags.place).sub_(seen)
        scale = inverse_norms(rest)
        ctx.save_for_backward(rest.mul_(scale), scale)
        ctx.bags, ctx.n_rows = bags, len(units)
        return rest

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        bags = ctx.bags
        rest = along(grads[0], *ctx.saved_tensors)
        sums = rest
        if len(bags.firsts) < len(rest):
            numbers = torch.arange(len(rest), device=rest.device)
            sums = embedding_bag(numbers, rest, bags.firsts, mode="sum")
        bits = len(sums).bit_length()
        keys = ascending((bags.items << bits).bitwise_or_(bags.bag))  # by item, then by bag
        counts = torch.bincount(bags.items, minlength=ctx.n_rows)
        offsets = torch.cumsum(counts, 0) - counts
        by_item = embedding_bag(keys.bitwise_and_((1 << bits) - 1), sums, offsets, mode="sum")
        return by_item, -rest, None


def others_and_items(
    vectors: Tensor, items: list[Tensor], bags: Bags, *, units: bool
) -> tuple[Tensor, list[Tensor]]:
    """(B, D) normalised sums of the users' other items, and some items, part by part.

    Args:
        vectors: (m, D) all items, or those that are named.
        items: rows of `vectors`, part by part, the batch's seen items first.
        bags: rows of `vectors` that each user has.
        units: give the items as vectors of norm 1, which are at hand.
    """
    all_units = unit(vectors)
    found = take(all_units, items if units else items[:1])
    others = sum_of_others(all_units, found[0], bags)
    return others, found if units else take(vectors, items)


def from_touched(
    histories: Histories, leaves: Leaves, batch: Batch, *, units: bool
) -> tuple[Tensor, list[Tensor]]:
    """The same of the table `items`, of which only the rows that it names are touched."""
    bags = histories.bags(batch.users)
    rows, places = leaves.rows("items", torch.cat([*batch.items, bags.items]))
    *items, in_bags = places.split([*map(len, batch.items), len(bags.items)])
    return others_and_items(rows, items, bags._replace(items=in_bags), units=units)


class History:
    """Item vectors alone; in training, the sum leaves out the seen item."""

    name = "history"

    def __init__(self, items: Tensor, histories: Histories, *, units: bool = False) -> None:
        self.tables: Tables = {"items": items}
        self.histories, self.units = histories, units

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """(B, D) normalised sums of the users' other items, and the batch's items."""
        return from_touched(self.histories, leaves, batch, units=self.units)

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items."""
        return None, self.tables["items"]
