"""The K best items of every row of scores, exactly: equal scores stand in order of item index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from elasticrec.data.interactions import Pairs

if TYPE_CHECKING:
    from torch import Tensor

_ROWS_AT_ONCE = 128  # of the exact path for ties, which needs several arrays as large as the scores


class TopItems(NamedTuple):
    """The best items of B persons, best first."""

    items: Tensor
    """(B, min(k, V)) int64 item numbers; -1 behind the last item a person may be shown."""
    scores: Tensor
    """(B, min(k, V)) their scores; -inf beside -1."""


def top_items(scores: Tensor, k: int, seen: Pairs | None = None) -> TopItems:
    """The k best items of each row of scores (B, V), ties in order of item index.

    Args:
        scores: (B, V), not NaN; an item of score -inf is never listed. Overwritten by `seen`.
        seen: one user per row, whose items must not be listed.
    """
    import torch

    if seen is not None:
        counts = torch.as_tensor(seen.per_user).to(scores.device)
        rows = torch.repeat_interleave(counts, output_size=len(seen))
        scores[rows, torch.as_tensor(seen.items).to(rows)] = -torch.inf
    V = scores.shape[1]
    k = min(k, V)
    best, items = scores.topk(min(k + 1, V), dim=1)
    if k < V:
        tied = (best[:, k - 1] == best[:, k]) & (best[:, k] > -torch.inf)
        best, items = best[:, :k], items[:, :k]
        rows = tied.nonzero().squeeze(1)  # the k-th place could go to an item left outside
        for some in torch.split(rows, _ROWS_AT_ONCE):
            items[some] = _lowest_of_ties(scores[some], best[some, k - 1], k)
    items = items.sort(dim=1).values
    best = scores.gather(1, items)
    best, order = best.sort(dim=1, descending=True, stable=True)
    items = items.gather(1, order)
    return TopItems(items.masked_fill_(best == -torch.inf, -1), best)


VARIED_AMONG = 5
"""Times the length of a list: so many of the best items a varied list is chosen among."""


def varied(scores: np.ndarray, vectors: np.ndarray, k: int, diversity: float) -> np.ndarray:
    """Places of k items that score high and differ from those before them (MMR), in sequence.

    The next item has the largest (1 - δ)·r - δ·s: r is its score, 1 for the best and 0 for the last
    of those given, and s its largest cosine with an item chosen before, at least 0. Equal ones go
    to the earlier place.

    Args:
        scores: (n,) falling.
        vectors: (n, D) of the items, in any length; a zero vector is like no other.
        diversity: δ, from 0 (the best k) to 1 (what differs most).
    """
    y = vectors.astype(np.float64)
    lengths = np.sqrt((y * y).sum(axis=1))
    worth = (scores - scores[-1:]) / np.maximum(scores[:1] - scores[-1:], 1e-12)
    near, chosen = np.zeros(len(y)), np.zeros(0, np.int64)
    while len(chosen) < min(k, len(y)):
        value = (1 - diversity) * worth - diversity * near
        value[chosen] = -np.inf
        one = int(np.argmax(value))
        chosen = np.append(chosen, one)
        near = np.maximum(near, (y @ y[one]) / np.maximum(lengths * lengths[one], 1e-12))
    return chosen


def _lowest_of_ties(scores: Tensor, last: Tensor, k: int) -> Tensor:
    """(B, k) items: all that score above `last` (B,), and the first ones that equal it."""
    import torch

    above = scores > last.unsqueeze(1)
    equal = scores == last.unsqueeze(1)
    wanted = k - above.sum(dim=1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(dim=1, dtype=torch.int32) <= wanted))
    return chosen.nonzero()[:, 1].view(-1, k)
