"""Ranks of relevant items under many mixing weights at once, by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.evaluation.metrics import NOT_LISTED
from elasticrec.evaluation.toplist import best_scores

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.evaluation.votes import Cast

TIE = 1e-12
"""What an item's number takes off its score, so that equal scores stand in order of numbers."""


class VotedRanks:
    """Dense scores of some users, and the ranks that votes of any weight give on top of them.

    Votes only raise scores, so an item that k others outrank without votes is never listed, and
    the best k dense scores, found once, settle all others. What remains is to look at voted items:
    those that outrank it with their votes count instead of those that do without.
    """

    def __init__(self, scores: Tensor, rows: Tensor, items: Tensor, k: int) -> None:
        """Ranks of some pairs.

        Args:
            scores: (u, V) dense scores, -inf where an item may not be shown.
            rows: (p,) the user of each pair.
            items: (p,) the item of each pair.
            k: ranks below k are exact, others at least k.
        """
        V = scores.shape[1]
        self._scores = scores.to(torch.float64)
        self._scores -= TIE * torch.arange(V, dtype=torch.float64, device=scores.device)
        self._rows, self._items, self._k = rows, items, min(k, V)
        self._own = self._scores[rows, items]  # (p,)
        best = best_scores(self._scores, self._k)  # (u, k) ascending
        self._last = best[:, 0]  # (u,) what a listed item reaches at least
        self._best = best[rows]  # (p, k)

    def under(self, cast: Cast, factors: Tensor, weights: np.ndarray) -> np.ndarray:
        """(W, p) int64 ranks of the pairs if votes are added at each weight.

        Args:
            cast: votes for items by their numbers, each pair of user and item once.
            factors: (u,) float64 what each user's votes are multiplied by beside the weight.
            weights: (W,) not negative.
        """
        V = self._scores.shape[1]
        before = self._scores[cast.users, cast.items]  # (n,)
        shown = before > -torch.inf
        users, items, before = cast.users[shown], cast.items[shown], before[shown]
        added = factors[users] * cast.votes[shown]
        own_added = _looked_up(users * V + items, added, self._rows * V + self._items)
        never = self._own == -torch.inf
        own = torch.where(never, 0.0, self._own)
        reach = float(before.abs().amax() + added.amax() * weights.max()) if len(before) else 0.0
        reach += float((own.abs() + own_added * weights.max()).amax()) if len(own) else 0.0
        apart = 2 * reach + 1  # moves the scores of one user apart from those of the next
        dense, order = (users * apart + before).sort()
        users, before, added = users[order], before[order], added[order]
        ranks = []
        for weight in weights.tolist():
            marks = own + weight * own_added  # (p,)
            lifted = self._rows * apart + marks
            above = self._k - _count_up_to(self._best, marks)
            raised = before + weight * added
            near = (raised >= self._last[users]).nonzero().squeeze(1)  # others outrank none listed
            voted = (users[near] * apart + raised[near]).sort().values
            # Places count from the first user on, alike in both, so their difference is her own.
            above += torch.searchsorted(dense[near], lifted, right=True)
            above -= torch.searchsorted(voted, lifted, right=True)
            ranks.append(above.masked_fill_(never, NOT_LISTED))
        return torch.stack(ranks).cpu().numpy()


def _looked_up(keys: Tensor, values: Tensor, wanted: Tensor) -> Tensor:
    """(p,) the value at each wanted key, 0 where it is not among the distinct keys."""
    if not len(keys):
        return torch.zeros(len(wanted), dtype=torch.float64, device=wanted.device)
    keys, order = keys.sort()
    places = torch.searchsorted(keys, wanted).clamp_(max=len(keys) - 1)
    return torch.where(keys[places] == wanted, values[order[places]], 0.0)


def _count_up_to(ascending: Tensor, marks: Tensor) -> Tensor:
    """(p,) how many of each row's numbers (p, k) are not above its mark."""
    return torch.searchsorted(ascending, marks.unsqueeze(1), right=True).squeeze(1)
