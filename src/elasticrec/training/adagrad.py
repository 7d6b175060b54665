"""BPR on plain products by Adagrad with one step size per row: only a batch's rows are touched."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from elasticrec.training.bases import Tables
from elasticrec.training.sampler import Batch

_LEAST = 1e-12


class PairAdagrad:
    """Steps of `mf` with `bpr`: a vector per user and per item, and one number beside each.

    For a pair with the gap z = u·(i - j), every gradient of -ln σ(z) is σ(-z) times a vector at
    hand, and L2 adds the row itself. A row remembers h, the sum of the mean squares of what pulled
    at it, and moves by rate / √h times its gradient. Adam would read and write two more tables as
    large as the vectors themselves.
    """

    def __init__(self, tables: Tables, l2: float) -> None:
        self.tables, self.l2 = tables, l2
        first = l2**2 + _LEAST  # so that L2 alone never takes more than rate times a row
        self.sums = {name: table.new_full((len(table),), first) for name, table in tables.items()}
        self._memory: list[Tensor] = []  # used again: asking for new memory costs as much as a pass

    def step(self, batch: Batch, rate: float) -> Tensor:
        """The mean loss of a batch without L2, after a step on it.

        Of a pair's unseen items the hardest counts, and is the only one that moves.
        """
        users, items = batch.users, torch.cat([batch.seen, self._hardest(batch)])
        B, D = len(users), self.tables["users"].shape[1]
        u, gaps, rows = self._rows(B, D)
        torch.index_select(self.tables["users"], 0, users, out=u)
        torch.index_select(self.tables["items"], 0, items, out=rows)
        torch.sub(rows[:B], rows[B:], out=gaps)
        z = _dots(u, gaps)
        pull = torch.sigmoid(-z)  # (B,)
        of_users = self._sizes("users", users, pull.square() * _dots(gaps, gaps), rate)
        of_items = self._sizes("items", items, (pull.square() * _dots(u, u)).repeat(2), rate)
        rows.mul_(of_items * -self.l2)
        rows[:B].addcmul_(u, of_items[:B] * pull.unsqueeze(1))
        rows[B:].addcmul_(u, of_items[B:] * -pull.unsqueeze(1))
        gaps.mul_(of_users * pull.unsqueeze(1)).addcmul_(u, of_users * -self.l2)
        self.tables["items"].index_add_(0, items, rows)
        self.tables["users"].index_add_(0, users, gaps)
        return softplus(-z).mean()

    def _sizes(self, name: str, at: Tensor, squares: Tensor, rate: float) -> Tensor:
        """(n, 1) how far rows move per gradient, once these squared gradients are remembered."""
        sums = self.sums[name].index_add_(0, at, squares / self.tables[name].shape[1])
        return sums.index_select(0, at).rsqrt_().mul_(rate).unsqueeze(1)

    def _hardest(self, batch: Batch) -> Tensor:
        """(B,) of each pair's unseen items the one that scores highest."""
        B, m = batch.unseen.shape
        if m == 1:
            return batch.unseen.view(-1)
        u = self.tables["users"].index_select(0, batch.users).unsqueeze(2)  # (B, D, 1)
        j = self.tables["items"].index_select(0, batch.unseen.view(-1)).view(B, m, -1)
        best = torch.bmm(j, u).squeeze(2).argmax(dim=1, keepdim=True)
        return batch.unseen.gather(1, best).squeeze(1)

    def _rows(self, B: int, D: int) -> tuple[Tensor, Tensor, Tensor]:
        """Memory for the users' rows (B, D), the gaps (B, D) and the items' rows (2B, D)."""
        if not self._memory or len(self._memory[0]) < B:
            like = self.tables["users"]
            self._memory = [like.new_empty(n * B, D) for n in (1, 1, 2)]
        u, gaps, rows = self._memory
        return u[:B], gaps[:B], rows[: 2 * B]

    def state(self) -> Tables:
        """What rows remember, by name, for a checkpoint."""
        return {f"sums.{name}": sums for name, sums in self.sums.items()}

    def restore(self, state: Tables, steps: int) -> None:
        """Go on from what `state` gave."""
        del steps  # it counts for nothing here
        for name, sums in self.sums.items():
            sums.copy_(state[f"sums.{name}"])


def _dots(one: Tensor, other: Tensor) -> Tensor:
    """(n,) products of rows; numpy's sum on a CPU makes them without a matrix in between."""
    if one.is_cuda:
        return torch.linalg.vecdot(one, other)
    return torch.from_numpy(np.einsum("nd,nd->n", one.numpy(), other.numpy()))
