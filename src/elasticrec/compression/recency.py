"""Recency: how much less the older items of a history weigh, where an order is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.ranking import evaluate_vectors

if TYPE_CHECKING:
    from elasticrec.compression.config import CompressionConfig
    from elasticrec.data.split import Split


def choose_recency(
    items: np.ndarray, split: Split, config: CompressionConfig, *, device: str = "auto"
) -> Choice | None:
    """The recency that ranks validation clearly best, 0 by default; None where no order is known.

    Persons are sums of the trained vectors: an item that is followed by a others weighs
    1 / (1 + recency · a).

    Args:
        items: (V, D) trained vectors.
    """
    from scipy.sparse import csr_matrix

    able = np.flatnonzero((split.validation.per_user > 0) & (split.train.per_user > 0))
    if len(able) > config.recency_persons:
        rng = np.random.default_rng([config.seed, 9])
        able = np.sort(rng.choice(able, config.recency_persons, replace=False))
    ages = split.ages(able)
    if ages is None or not len(able):
        return None
    units = items / np.maximum(np.linalg.norm(items, axis=1, keepdims=True), 1e-12)
    rows, asked = split.train.rows(able), questions(split, "validation", able)
    values = {}
    for recency in sorted({0.0, *config.recencies}):
        weights = (1 / (1 + recency * ages)).astype(np.float32)
        taken = csr_matrix((weights, rows.items, rows.indptr), shape=(len(able), len(units)))
        found = evaluate_vectors(
            np.asarray(taken @ units),
            units,
            asked,
            metrics=(config.metric,),
            device=device,
            keep_per_user=True,
        )
        assert found.per_user is not None
        values[f"{recency:g}"] = found.per_user[config.metric][None]
    return choose("recency", values, "0")
