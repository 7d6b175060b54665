"""Baselines: what any model must beat, on the same users. Neither of them is trained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.cooccurrence import count_cooccurrence
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.evaluation.ranking import (
    Evaluation,
    Queries,
    ScoreBatch,
    as_tensor,
    evaluate_scores,
)
from elasticrec.settings import Count, Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from torch import Tensor


@dataclass(frozen=True, repr=False)
class BaselineConfig(Settings):
    """Settings of the baselines."""

    neighbours: Count = 100
    """Items near each item that ItemKNN asks; what users have among them is summed."""


def evaluate_baselines(
    asked: Queries, metrics: Iterable[str] = DEFAULT_METRICS, config: BaselineConfig | None = None
) -> dict[str, Evaluation]:
    """Every baseline on the same users."""
    names, config = tuple(metrics), config or BaselineConfig()
    return {
        name: evaluate_scores(scores(asked, config), asked, metrics=names)
        for name, scores in BASELINES.items()
    }


def itemknn(asked: Queries, config: BaselineConfig) -> ScoreBatch:
    """ItemKNN: an item's score is the sum of its similarities to what the user took in train.

    The similarity is the cosine of who took two items, with busy users held back.
    """
    from scipy.sparse import csr_matrix

    V = asked.train.n_items
    near = count_cooccurrence(asked.train, min(config.neighbours, V - 1))
    item, place = np.nonzero(near.items >= 0)
    similar = csr_matrix((near.weights[item, place], (near.items[item, place], item)), shape=(V, V))
    return partial(_summed, asked.train.rows(asked.users).csr(), similar)


def _summed(histories: csr_matrix, similar: csr_matrix, start: int, stop: int) -> Tensor:
    return as_tensor((histories[start:stop] @ similar).toarray(), "cpu")


def popularity(asked: Queries, config: BaselineConfig) -> ScoreBatch:  # noqa: ARG001
    """The same scores for everyone: how many users took an item in train."""
    return partial(_alike, asked.train.per_item.astype(np.float32))


def _alike(scores: np.ndarray, start: int, stop: int) -> Tensor:
    return as_tensor(scores, "cpu").repeat(stop - start, 1)


BASELINES = {"itemknn": itemknn, "popularity": popularity}
"""The baselines by name, the stronger one first."""
