"""From a trained table to codes: a rotation, then columns of two kinds of codebook."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from elasticrec.compression.codes import POPULARITY_CLASSES, Codes, assemble, popularity_class
from elasticrec.compression.columns import BLOCK
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.residual_codebooks import residual_columns
from elasticrec.compression.rotation import energy_rotation
from elasticrec.compression.subvector_codebook import subvector_columns
from elasticrec.errors import InputError

log = logging.getLogger(__name__)


def compress(
    items: np.ndarray,
    config: CompressionConfig,
    *,
    users: np.ndarray | None = None,
    cosine: bool = True,
    popularity: np.ndarray | None = None,
    exponent: float = 0.0,
    recency: float = 0.0,
    report: Callable[[str], None] = lambda _: None,
) -> Codes:
    """Codes of items (V, D), D a multiple of 8.

    Args:
        users: (U, D) users, where they are no sums of items.
        cosine: items count by direction alone; else by their length, too.
        popularity: (V,) train interactions, for the exponent.
        exponent: items are scored times their popularity to this power.
        recency: how much less older items of a history weigh.
        report: told what is made next.
    """
    V, D = items.shape
    if D % BLOCK or V < 1:
        raise InputError(f"items of shape {items.shape}, expected blocks of {BLOCK} numbers")
    rng = np.random.default_rng(config.seed)
    rotation = energy_rotation(items, users)
    rest = np.ascontiguousarray(items @ rotation, dtype=np.float32)
    if cosine:
        rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
    person = rest if users is None else users @ rotation
    empty = person.mean(axis=0)
    n_residual = config.residual_columns(V, D)
    report(f"{n_residual} residual codebooks")
    columns = residual_columns(rest, n_residual, config, rng)
    for stage in range(config.stages):
        report(f"sub-vector stage {stage + 1} of {config.stages}")
        columns += subvector_columns(rest, config, rng)
    return assemble(
        columns,
        n_blocks=D // BLOCK,
        rotation=rotation,
        empty=empty,
        popularity=_factors(popularity, exponent),
        cosine=cosine,
        recency=recency,
        rest_columns=min(config.fewest_residual, len(columns)),
    )


def _factors(popularity: np.ndarray | None, exponent: float) -> np.ndarray | None:
    """(28,) mean of popularity to the exponent by class of item number; items are by popularity."""
    if popularity is None or not exponent:
        return None
    factors = ((popularity + 1.0) / (popularity.max() + 1.0)) ** exponent
    classes = popularity_class(np.arange(len(popularity)))
    counts = np.bincount(classes, minlength=POPULARITY_CLASSES)
    means = np.bincount(classes, factors, minlength=POPULARITY_CLASSES) / np.maximum(counts, 1)
    last = int(np.flatnonzero(counts).max())
    means[last + 1 :] = means[last]
    means[0] = means[1]
    return np.asarray(means)
