"""Metrics of hits and of lists: of many users, from the ranks of their relevant items alone.

Of hits among the first K, for a user with R relevant items, whose hits stand at places p from 1:

- recall: hits / R.
- ndcg: the sum of 1 / log2(p + 1), as a share of the best possible one, min(K, R) hits on top.
- hit: 1 with a hit, else 0.
- mrr: 1 / p of the first hit; 0 without any.
- map: the sum over hits of the share of hits up to there, divided by min(K, R).

The others look at all that is listed, relevant or not, by the train pairs and no model, so that
models of any kind stand side by side:

- coverage: the share of all items that are listed at all.
- gini: how unequally often items are listed, half the mean difference of two by the mean.
- novelty: the mean of -log2 of the share of users who took an item in train.
- diversity: the mean over pairs of a list of 1 - cosine of who took them in train.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DEFAULT_METRICS = (
    *("recall@20", "recall@50", "ndcg@20", "ndcg@50", "hit@20", "mrr@20", "map@20"),
    *("coverage@20", "gini@20", "novelty@20", "diversity@20"),
)
"""Metrics where none are named."""

_NUMBERS_AT_ONCE = 20_000_000

NOT_LISTED = np.iinfo(np.int32).max
"""The rank of a relevant item that no list holds: below every K."""


METRICS = ("recall", "ndcg", "hit", "mrr", "map")
"""Metrics of hits: each from the ranks of the relevant items of one user."""

LISTWISE = ("coverage", "gini", "novelty", "diversity")
"""Metrics of all that is listed, relevant or not."""


@dataclass(frozen=True)
class Metric:
    """One thing to measure: a name of `METRICS` or `LISTWISE` and how long the list is."""

    name: str
    """The name before the `@`."""
    k: int
    """K: how many items are shown."""

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"


def parse_metric(text: Metric | str) -> Metric:
    """The metric of hits that a text such as `recall@50` names, by which a choice can be made."""
    return _parsed(text, METRICS)


def parse_metrics(texts: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics, of hits or of lists, that some texts name: each once, at least one."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"metrics: {texts!r}, expected a list such as ['recall@50']")
    parsed = tuple(dict.fromkeys(_parsed(text, (*METRICS, *LISTWISE)) for text in texts))
    if not parsed:
        raise InputError("no metric was named; expected at least one, such as recall@20")
    return parsed


def _parsed(text: Metric | str, known: Collection[str]) -> Metric:
    """The metric that a text names, if it is one of the known."""
    name, _, k = str(text).strip().lower().partition("@")
    sound = k.isascii() and k.isdigit() and len(k) < 10 and int(k) > 0
    if name not in known or not sound:
        expected = f"{', '.join(known)} with a length: recall@20"
        raise InputError(f"unknown metric {text!r}; expected {expected}")
    return Metric(name, int(k))


def metrics_from_ranks(
    ranks: np.ndarray, indptr: np.ndarray, names: Iterable[Metric | str]
) -> dict[str, np.ndarray]:
    """Each metric's value for every user, (U,) float64, from the ranks of the relevant items.

    Args:
        ranks: (n,) integers, one per relevant item: how many items a person may be shown score
            higher, or score the same and have a lower index; `NOT_LISTED` if she is never shown it.
        indptr: (U + 1,) user u's ranks are `ranks[indptr[u]:indptr[u + 1]]`, at least one each.
    """
    n_relevant, starts = np.diff(indptr), indptr[:-1]
    if not n_relevant.all():
        raise ValueError("some user has no relevant item; leave such users out")
    places = ranks + 1.0
    values = {}
    for metric in map(parse_metric, names):
        top = ranks < metric.k
        most = np.minimum(n_relevant, metric.k)
        if metric.name == "ndcg":
            gains = np.add.reduceat(np.where(top, 1 / np.log2(places + 1), 0), starts)
            best = np.cumsum(1 / np.log2(np.arange(metric.k) + 2.0))  # of 1, 2, … K hits
            found = gains / best[most - 1]
        elif metric.name == "map":
            shares = np.where(top, _hits_so_far(ranks, indptr) * (1 / places), 0)
            found = np.add.reduceat(shares, starts) / most
        elif metric.name == "mrr":
            found = np.maximum.reduceat(np.where(top, 1 / places, 0), starts)
        else:
            hits = np.add.reduceat(top.astype(np.float64), starts)
            found = hits / n_relevant if metric.name == "recall" else np.minimum(hits, 1.0)
        values[str(metric)] = found
    return values


def _hits_so_far(ranks: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """(n,) how many relevant items of the same user stand at each rank or above, from 1."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    hits = np.empty(len(ranks), dtype=np.int64)
    hits[np.lexsort((ranks, users))] = np.arange(1, len(ranks) + 1) - indptr[users]
    return hits


def metrics_of_lists(
    lists: np.ndarray, train: Pairs, names: Iterable[Metric | str]
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Metrics of lists (U, K), -1 behind the end of a short one: of all together, and of each."""
    together, per_user = {}, {}
    for metric in (_parsed(name, LISTWISE) for name in names):
        shown = lists[:, : metric.k]
        times = np.sort(np.bincount(shown[shown >= 0], minlength=train.n_items))
        if metric.name == "coverage":
            together[str(metric)] = float((times > 0).mean())
        elif metric.name == "gini":
            ranks = 2 * np.arange(1, train.n_items + 1) - train.n_items - 1
            whole = train.n_items * max(int(times.sum()), 1)
            together[str(metric)] = float((ranks * times).sum() / whole)
        elif metric.name == "novelty":
            per_user[str(metric)] = _novelty(shown, train)
        else:
            per_user[str(metric)] = _diversity(shown, train)
    return together, per_user


def _novelty(lists: np.ndarray, train: Pairs) -> np.ndarray:
    """(U,) the novelty of each list."""
    bits = -np.log2(np.maximum(train.per_item, 1) / train.n_users)
    there = lists >= 0
    found: np.ndarray = (bits[lists] * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return found


def _diversity(lists: np.ndarray, train: Pairs) -> np.ndarray:
    """(U,) the diversity of each list.

    With x_i = (who took item i) / norm, all pairs i < j give (|sum of x_i|² - sum of |x_i|²) / 2.
    """
    from scipy.sparse import csr_matrix, diags

    norms = np.sqrt(train.per_item)
    weights = np.divide(1, norms, out=np.zeros(len(norms)), where=norms > 0)
    takers = (diags(weights) @ train.csr().T).tocsr()  # (V, users)
    there = lists >= 0
    squares = np.empty(len(lists))
    most = max(1, _NUMBERS_AT_ONCE // train.n_users)
    for start in range(0, len(lists), most):
        part, some = lists[start : start + most], there[start : start + most]
        ends = np.concatenate(([0], np.cumsum(some.sum(axis=1))))
        chosen = csr_matrix(
            (np.ones(int(ends[-1])), part[some], ends), shape=(len(part), train.n_items)
        )
        sums: csr_matrix = chosen @ takers
        squares[start : start + most] = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()
    own = ((norms[lists] > 0) & there).sum(axis=1)
    n = there.sum(axis=1)
    pairs = np.maximum(n * (n - 1) / 2, 1)
    return np.where(n < 2, 0.0, 1 - (squares - own) / 2 / pairs)
