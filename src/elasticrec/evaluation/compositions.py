"""How good a composition is, by exact ranking: the plain evaluator, which takes any composition.

No list is made. A metric needs the rank of each relevant item alone, and that is a count: how many
items score higher. Most relevant items stand so low that a lower bound settles them: every stretch
of 64 items whose best score is higher holds at least one item above.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from elasticrec.data.errors import InputError
from elasticrec.evaluation.arithmetic import full_precision, single_thread
from elasticrec.evaluation.metrics import (
    NOT_LISTED,
    SUMS,
    metrics_from_ranks,
    parse_metric,
    terms,
)
from elasticrec.evaluation.questions import Questions, questions

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.data.splitting import Split
    from elasticrec.evaluation.rows import RowScores

STRETCH = 64
"""Items per stretch: small enough to prune well, large enough that bounds cost little."""
CELLS = 2**16
"""Stretches counted at once; they only need memory, so the number is for small machines."""


class Evaluator(Protocol):
    """Measures compositions on fixed users by one metric."""

    metric: str
    """Such as `recall@100`."""
    batch: int
    """How many compositions suit one call."""

    def evaluate(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) float64: the metric of each composition, depths (B, G, N) and neighbours (B, G)."""
        ...


def validation_questions(split: Split, n_users: int, rng: np.random.Generator) -> Questions:
    """The same μ users for every composition: drawn among those with validation items.

    They are asked for their validation items with train hidden. The test part is never read.
    """
    if n_users < 1:
        raise InputError(f"cannot evaluate on {n_users} users; expected at least 1")
    able = np.flatnonzero(split.validation.per_user > 0)
    if len(able) > n_users:
        able = np.sort(rng.choice(able, size=n_users, replace=False))
    return questions(split, "validation", able)


class PlainEvaluator:
    """Ranks all items for every user under each composition; CPU or GPU by the same code."""

    def __init__(self, scores: RowScores, asked: Questions, metric: str = "recall@100") -> None:
        """An evaluator of the users of `scores`, who are those of `asked`, in its order."""
        self.metric = str(parse_metric(metric))
        self.batch = 4 if scores.device == "cpu" else 64
        self._k = parse_metric(metric).k
        self._scores = scores
        self._asked = asked
        self._chunks = [
            _Chunk(asked, start, stop, scores.device) for start, stop in user_chunks(scores)
        ]
        widest = max(len(chunk) for chunk in self._chunks)
        padded = -(-asked.seen.n_items // STRETCH) * STRETCH
        self._buffer = torch.full((widest, padded), -torch.inf, device=scores.device)

    def evaluate(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) float64: the metric of each composition, depths (B, G, N) and neighbours (B, G)."""
        return mean_metric(self.ranks(depths, neighbours), self._asked, self.metric)

    def ranks(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B, n) the rank of every relevant pair, exact where it is below K."""
        with full_precision(), single_thread():
            counted = [
                torch.cat([self._count(row, kept, chunk) for chunk in self._chunks])
                for row, kept in zip(depths, neighbours, strict=True)
            ]
        if not counted:
            return np.zeros((0, len(self._asked.relevant)), dtype=np.int64)
        return torch.stack(counted).cpu().numpy()

    def _count(self, depths: np.ndarray, neighbours: np.ndarray, chunk: _Chunk) -> Tensor:
        scores = self._buffer[: len(chunk)]
        bounds = self._scores.bounds.tolist()
        for g, (lo, hi) in enumerate(pairwise(bounds)):
            kept = int(neighbours[g])
            self._scores.write(scores[:, lo:hi], g, depths[g], kept, chunk.start, chunk.stop)
        scores[chunk.seen_rows, chunk.seen_items] = -torch.inf
        return count_above(scores, chunk.rows, chunk.items, self._k)


class _Chunk:
    """Some of the users asked about, with their pairs numbered from the chunk's first user."""

    def __init__(self, asked: Questions, start: int, stop: int, device: str) -> None:
        self.start, self.stop = start, stop
        some = np.arange(start, stop)
        seen, relevant = asked.seen.rows(some), asked.relevant.rows(some)
        self.seen_rows, self.seen_items, self.rows, self.items = (
            torch.as_tensor(values.astype(np.int64)).to(device)
            for values in (seen.users, seen.items, relevant.users, relevant.items)
        )

    def __len__(self) -> int:
        return self.stop - self.start


def user_chunks(scores: RowScores) -> Iterator[tuple[int, int]]:
    """Start and stop of the users scored at once: 250 on a CPU, 2,000 on a GPU.

    Both evaluators take the same chunks, since the shape of a product may change its last bits.
    """
    size = 250 if scores.device == "cpu" else 2000
    for start in range(0, scores.n_users, size):
        yield start, min(start + size, scores.n_users)


def count_above(scores: Tensor, rows: Tensor, items: Tensor, k: int) -> Tensor:
    """(p,) int64: how many items outrank each pair's item; NOT_LISTED if k or more surely do.

    An item outranks another if it scores higher, or the same at a lower index.

    Args:
        scores: (u, multiple of STRETCH); -inf where an item may not be shown.
        rows: (p,) the user of each pair.
        items: (p,) the item of each pair.
        k: ranks below k are exact.
    """
    stretches = scores.view(len(scores), -1, STRETCH)  # (u, s, 64)
    own = scores[rows, items].unsqueeze(1)  # (p, 1)
    best = stretches.amax(dim=2)[rows]  # (p, s)
    open_pairs = ((best > own).sum(dim=1) < k) & (own.squeeze(1) > -torch.inf)
    counts = torch.where(open_pairs, 0, NOT_LISTED)
    pairs, where = ((best >= own) & open_pairs.unsqueeze(1)).nonzero(as_tuple=True)
    within = torch.arange(STRETCH, device=scores.device)
    for pair, stretch in zip(pairs.split(CELLS), where.split(CELLS), strict=True):
        found = stretches[rows[pair], stretch]  # (n, 64)
        mark = own[pair]
        lower = stretch.unsqueeze(1) * STRETCH + within < items[pair].unsqueeze(1)
        above = (found > mark) | ((found == mark) & lower)
        counts.index_add_(0, pair, above.sum(dim=1))
    return counts


def mean_metric(ranks: np.ndarray, asked: Questions, metric: str) -> np.ndarray:
    """(…) the mean of a metric over users, from ranks (…, n) of their relevant items.

    Recall, NDCG and their mean are sums over pairs. With weights, a pair counts as many times as
    its weight says, against the mean weight of its user's pairs; a hit is no such sum.
    """
    if asked.weights is None:
        per_user = metrics_from_ranks(ranks, asked.relevant.indptr, [metric])[metric]
        mean: np.ndarray = per_user.mean(axis=-1)
        return mean
    parsed, counts = parse_metric(metric), asked.relevant.per_user
    if parsed.name not in SUMS:
        raise InputError(f"{metric} of weighted pairs, expected {' or '.join(SUMS)}")
    total = (asked.weights / np.repeat(counts, counts)).sum()
    weighted: np.ndarray = sum(
        share * (worth @ (asked.weights / np.repeat(most, counts) / total))
        for share, worth, most in terms(parsed, ranks, counts)
    )
    return weighted
