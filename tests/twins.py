"""Slow, readable twins of fast code; tests hold the two against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from math import log2, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs


def score_tiled_reference(
    user: np.ndarray, item: np.ndarray, chosen: Sequence[int], widest: int
) -> float:
    """Eq. 2 as printed for one user (D,) and one item (N, d): each block repeated N times."""
    repeats = len(user) // item.shape[1]
    total = sum(float(user @ np.tile(item[n], repeats)) for n in chosen)
    return widest / len(chosen) * total


def score_aligned_reference(
    user: np.ndarray, item: np.ndarray, chosen: Sequence[int], widest: int | None = None
) -> float:
    """The aligned score of one user (D,) and one item (N, d): block n meets block n.

    Args:
        widest: max over groups of |B_g|; given, the score is scaled by widest / |B| as in Eq. 2.
    """
    d = item.shape[1]
    total = sum(float(user[n * d : (n + 1) * d] @ item[n]) for n in chosen)
    return total if widest is None else widest / len(chosen) * total


def coverage_of(lists: Sequence[Sequence[int]], train: Pairs) -> float:
    """Share of all items that stand in at least one list."""
    return len({item for listed in lists for item in listed}) / train.n_items


def gini_of(lists: Sequence[Sequence[int]], train: Pairs) -> float:
    """Gini coefficient of how often items are listed: 0 if all alike, near 1 if only a few are.

    It is half the mean difference of two items, by the mean.
    """
    times = Counter(item for listed in lists for item in listed)
    counts = [times[item] for item in range(train.n_items)]
    apart = sum(abs(a - b) for a in counts for b in counts)
    return apart / (2 * train.n_items * sum(counts)) if sum(counts) else 0.0


def novelty_of(listed: Sequence[int], train: Pairs) -> float:
    """Mean over a list of -log2 of the share of users who took the item in train.

    An item that nobody took counts as if one user had.
    """
    takers = [int((train.items == item).sum()) for item in listed]
    bits = [-log2(max(n, 1) / train.n_users) for n in takers]
    return sum(bits) / len(bits) if bits else 0.0


def diversity_of(listed: Sequence[int], train: Pairs) -> float:
    """Mean over pairs of a list of 1 - cosine of who took them in train; 0 of fewer than 2 items.

    The cosine of two items is their common users by the root of the product of their users.
    """
    takers = [set(train.users[train.items == item].tolist()) for item in listed]
    pairs = list(combinations(takers, 2))
    alike = (len(a & b) / sqrt(len(a) * len(b)) if a and b else 0.0 for a, b in pairs)
    return 1 - sum(alike) / len(pairs) if pairs else 0.0


def top_list(scores: np.ndarray, k: int, seen: np.ndarray | None = None) -> np.ndarray:
    """At most k item numbers, best first, of one person's scores (V,): a plain sort.

    It is the readable twin of `top_items`, and quick enough for one person.

    Args:
        scores: (V,); an item of score -inf is never listed.
        k: how many items to list.
        seen: item numbers that must not be listed.
    """
    scores = np.array(scores)
    if seen is not None:
        scores[seen] = -np.inf
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return order[scores[order] > -np.inf]


def diversity_reference(blocks: Tensor) -> Tensor:
    """The double sum of Eq. 3 as printed, averaged over items."""
    N = blocks.shape[1]
    total = torch.zeros(blocks.shape[0], dtype=blocks.dtype, device=blocks.device)
    for n in range(N):
        for m in range(n + 1, N):
            total = total + (blocks[:, n] - blocks[:, m]).square().sum(dim=1)
    return total.mean()


def recall_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """Share of all relevant items that are among the first k; `ranked` is best first."""
    wanted = _wanted(relevant)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def ndcg_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """Discounted gain of the first k, 1 / log2(place + 1), as a share of the best possible one.

    The best list has min(k, number of relevant items) hits on top.
    """
    wanted = _wanted(relevant)
    gain = sum(1 / log2(rank + 2) for rank, item in enumerate(ranked[:k]) if item in wanted)
    return gain / sum(1 / log2(rank + 2) for rank in range(min(k, len(wanted))))


def hit_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """1.0 if any of the first k is relevant, else 0.0."""
    return float(not _wanted(relevant).isdisjoint(ranked[:k]))


def mrr_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """1 / place of the first hit among the first k; 0.0 without any."""
    wanted = _wanted(relevant)
    return next((1 / place for place, item in enumerate(ranked[:k], 1) if item in wanted), 0.0)


def map_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """Sum over hits among the first k of the share of hits up to there, by the most hits possible.

    Most possible are min(k, number of relevant items).
    """
    wanted = _wanted(relevant)
    places = [place for place, item in enumerate(ranked[:k], 1) if item in wanted]
    shares = (hits / place for hits, place in enumerate(places, 1))
    return sum(shares) / min(k, len(wanted))


def _wanted(relevant: Collection[Any]) -> set[Any]:
    """The relevant items as a set; without any, no metric is defined."""
    if not relevant:
        raise ValueError("no relevant item; expected at least one (leave such users out)")
    return set(relevant)


METRICS = {
    "recall": recall_at,
    "ndcg": ndcg_at,
    "hit": hit_at,
    "mrr": mrr_at,
    "map": map_at,
}
"""The definition of each metric of hits."""
