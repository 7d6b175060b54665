"""Recall@K, NDCG@K and hit rate: of one ranked list, and of many users from the ranks alone.

`recall_at`, `ndcg_at`, … are the definitions, one list at a time. `metrics_from_ranks` is their
fast twin: it needs only the rank of each relevant item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from elasticrec.errors import InputError

DEFAULT_METRICS = ("recall@20", "recall@50", "ndcg@20", "ndcg@50", "hit@20")
"""Metrics where none are named."""

NOT_LISTED = np.iinfo(np.int32).max
"""The rank of a relevant item that no list holds: below every K."""


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


def _wanted(relevant: Collection[Any]) -> set[Any]:
    """The relevant items as a set; without any, no metric is defined."""
    if not relevant:
        raise ValueError("no relevant item; expected at least one (leave such users out)")
    return set(relevant)


METRICS: dict[str, Callable[[int, Sequence[Any], Collection[Any]], float]] = {
    "recall": recall_at,
    "ndcg": ndcg_at,
    "hit": hit_at,
}
"""Each metric's definition by its name before the `@`."""


@dataclass(frozen=True)
class Metric:
    """One thing to measure: a name of `METRICS` and how long the list is."""

    name: str
    """`recall`, `ndcg` or `hit`."""
    k: int
    """K: how many items are shown."""

    def __post_init__(self) -> None:
        if self.name not in METRICS or self.k < 1:
            raise InputError(_expected(str(self)))

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"


def parse_metric(text: str) -> Metric:
    """The metric that a text such as `recall@50` names."""
    name, _, k = text.strip().lower().partition("@")
    if name not in METRICS or not (k.isascii() and k.isdigit()):
        raise InputError(_expected(text))
    return Metric(name, int(k))


def parse_metrics(texts: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics that some texts name, each once, in the order given; at least one."""
    parsed = tuple(dict.fromkeys(parse_metric(text) for text in texts))
    if not parsed:
        raise InputError("no metric was named; expected at least one, such as recall@20")
    return parsed


def _expected(found: str) -> str:
    """The one line that says which metrics exist."""
    return f"unknown metric {found!r}; expected {', '.join(METRICS)} with a length: recall@20"


def metrics_from_ranks(
    ranks: np.ndarray,
    indptr: np.ndarray,
    names: Iterable[str],
    *,
    n_relevant: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Each metric's value for every user, (..., U) float64, from the ranks of the relevant items.

    Args:
        ranks: (..., n) integers, one per relevant item: how many items a person may be shown score
            higher, or score the same and have a lower index; `NOT_LISTED` if she is never shown
            it. Leading axes are separate evaluations of the same users.
        indptr: (U + 1,) user u's ranks are `ranks[..., indptr[u]:indptr[u + 1]]`.
        names: such as `recall@20`.
        n_relevant: (U,) how many relevant items each user has, where `ranks` holds only those
            near the top; by default as many as she has ranks. At least one each.
    """
    counts = np.diff(indptr)
    n_relevant = counts if n_relevant is None else np.asarray(n_relevant)
    if np.any(n_relevant < np.maximum(counts, 1)):
        raise ValueError(
            "some user has no relevant item or fewer than she has ranks; leave such users out"
        )
    values = {}
    for metric in parse_metrics(names):
        k = metric.k
        if metric.name == "ndcg":
            found = _sum_per_user(gains_at(k, ranks), indptr) / best_gains(k, n_relevant)
        else:
            hits = _sum_per_user((ranks < k).astype(np.float64), indptr)
            found = hits / n_relevant if metric.name == "recall" else np.minimum(hits, 1.0)
        values[str(metric)] = found
    return values


def gains_at(k: int, ranks: np.ndarray) -> np.ndarray:
    """(..., n) discounted gain of items by rank: 1 / log2(place + 1) among the first k, else 0."""
    top = ranks < k
    return np.where(top, 1 / np.log2(np.where(top, ranks, 0) + 2.0), 0.0)


def best_gains(k: int, n_relevant: np.ndarray) -> np.ndarray:
    """(U,) the gain of lists with all of so many relevant items on top; at least one each."""
    best = np.cumsum(1 / np.log2(np.arange(k) + 2.0))  # of 1, 2, … K hits
    found: np.ndarray = best[np.minimum(n_relevant, k) - 1]
    return found


def _sum_per_user(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """(..., U) sums of values (..., n) over each user's stretch; 0 where it is empty."""
    out = np.zeros((*values.shape[:-1], len(indptr) - 1))
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        out[..., filled] = np.add.reduceat(values, indptr[filled], axis=-1)
    return out
