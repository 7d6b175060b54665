"""Metrics of all that is listed, relevant or not: coverage, Gini, novelty, intra-list diversity.

Coverage is the share of all items that are listed at all, and Gini how unequally often they are:
half the mean difference of two items' counts, by the mean. Novelty is the mean of -log2 of the
share of users who took an item in train, and diversity the mean over pairs of items of 1 - cosine
of who took them. They ask the train pairs and no model, so that models of any kind stand side by
side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.metrics import parse_metrics

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NUMBERS_AT_ONCE = 20_000_000


def metrics_of_lists(
    lists: np.ndarray, train: Pairs, names: Iterable[str]
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Metrics of lists by name: of all lists together, and (U,) of each list.

    Args:
        lists: (U, K) item numbers, best first; -1 behind the end of a short list.
    """
    together, per_user = {}, {}
    for metric in parse_metrics(names):
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
