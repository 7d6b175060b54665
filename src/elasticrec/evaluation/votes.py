"""What histories vote for the items of a group: sparse, so that only voted items cost anything."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.coding.neighbours import Neighbours
    from elasticrec.data.interactions import Pairs


class Cast(NamedTuple):
    """Votes of some users for the items of one group; each pair of user and item once."""

    users: Tensor
    """(n,) int64 from 0: the user's place among those asked for."""
    items: Tensor
    """(n,) int64 from 0: the item's place in its group."""
    votes: Tensor
    """(n,) float32, above 0."""


class Votes:
    """The votes of a fixed set of histories, by group, number of slots and stretch of users.

    A stretch of users is looked up once and its sums are kept until another one is asked for, by
    every thread for itself. Sums are taken in float64, in which they are exact, so that no order of
    adding changes them.
    """

    def __init__(
        self, neighbours: Neighbours, bounds: np.ndarray, histories: Pairs, device: str
    ) -> None:
        target, slot = np.nonzero(neighbours.weights)
        voter = neighbours.numbers[target, slot].astype(np.int64)
        order = np.argsort(voter, kind="stable")
        values = neighbours.values[neighbours.weights[target, slot]]
        self._bounds = np.asarray(bounds)
        self._histories = histories
        counts = np.bincount(voter, minlength=neighbours.n_items)
        self._first = _tensor(np.cumsum(counts) - counts, device)  # (V,) of each voter's entries
        self._n_entries = _tensor(counts, device)  # (V,)
        self._target = _tensor(target[order], device)  # (n,) whom each entry votes for
        groups = np.searchsorted(self._bounds, target[order], side="right") - 1
        slots = neighbours.weights.shape[1]
        self._place = _tensor(groups * slots + slot[order], device)  # group and slot in one
        self._values = _tensor(values[order].astype(np.float64), device)
        self._slots = slots
        self._device = device
        self._kept = threading.local()

    def cast(self, group: int, count: int, start: int, stop: int) -> Cast:
        """The votes of users start … stop - 1 for one group, with the first `count` slots."""
        if getattr(self._kept, "stretch", None) != (start, stop):
            self._kept.stretch, self._kept.casts = (start, stop), {}
            self._kept.entries = self._look_up(start, stop)
        if (group, count) not in self._kept.casts:
            self._kept.casts[group, count] = self._summed(group, count)
        found: Cast = self._kept.casts[group, count]
        return found

    def _look_up(self, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor, np.ndarray]:
        """User, item and value of every entry that votes, by group, then slot; and where each is.

        The last of the four holds the end of every group's every slot.
        """
        offsets = self._histories.indptr[start : stop + 1]
        taken = _tensor(self._histories.items[offsets[0] : offsets[-1]], self._device)
        users = torch.repeat_interleave(_tensor(np.diff(offsets), self._device))
        each = self._n_entries[taken]
        ends = each.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        which = torch.repeat_interleave(each, output_size=total)  # the pair behind each entry
        within = torch.arange(total, device=self._device) - (ends - each)[which]
        entries = self._first[taken][which] + within
        places, order = self._place[entries].sort(stable=True)
        entries, which = entries[order], which[order]
        n_places = (len(self._bounds) - 1) * self._slots
        found = torch.bincount(places, minlength=n_places).cumsum(0).cpu().numpy()
        return users[which], self._target[entries], self._values[entries], found

    def _summed(self, group: int, count: int) -> Cast:
        """The votes for one group, entries for the same item added up."""
        users, items, values, ends = self._kept.entries
        first = group * self._slots
        begin = int(ends[first - 1]) if first else 0
        some = slice(begin, int(ends[first + count - 1]) if count else begin)
        lo, width = int(self._bounds[group]), int(np.diff(self._bounds)[group])
        keys, inverse = torch.unique(users[some] * width + (items[some] - lo), return_inverse=True)
        sums = torch.zeros(len(keys), dtype=torch.float64, device=self._device)
        sums.index_add_(0, inverse, values[some])
        return Cast(keys // width, keys % width, sums.to(torch.float32))


def _tensor(values: np.ndarray, device: str) -> Tensor:
    """An array on a device; whole numbers as int64."""
    kind = torch.int64 if values.dtype.kind in "iu" else None
    return torch.as_tensor(np.ascontiguousarray(values)).to(device, kind)
