"""From a trained table to codes: a rotation, then columns of two kinds of codebook.

The rotation orders directions by energy: the first blocks move scores most, and no full score
changes. Where an order is known, the recency says how much less older items of a history weigh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elasticrec.compression.codebooks import (
    BLOCK,
    Column,
    residual_columns,
    subvector_columns,
)
from elasticrec.compression.codes import (
    POPULARITY_CLASSES,
    Codes,
    assemble,
    popularity_class,
    with_gains,
    with_unit,
)
from elasticrec.compression.config import CompressionConfig
from elasticrec.errors import InputError
from elasticrec.training.table import unit


def energy_rotation(items: np.ndarray, users: np.ndarray | None = None) -> np.ndarray:
    """(D, D) orthogonal matrix whose columns are directions by falling energy, item × user.

    The energy of a direction q is (qᵀAq)(qᵀBq), with A the second moments of items about their
    mean (which never changes a ranking) and B those of users; the directions are eigenvectors of
    (AB + BA)/2, so that the first k of them keep as much of tr(AB), the mean square score, as one
    common rotation of users and items can.

    Args:
        users: (U, D); None where users are sums of items.
    """
    A = _second_moments(items - items.mean(axis=0))
    B = _second_moments(items if users is None else users)
    product = A @ B
    _, Q = np.linalg.eigh((product + product.T) / 2)
    energy = ((Q.T @ A) * Q.T).sum(axis=1) * ((Q.T @ B) * Q.T).sum(axis=1)
    Q = Q[:, np.argsort(-energy, kind="stable")]
    # The sign of an eigenvector is up to the solver: make its largest number positive.
    largest = Q[np.abs(Q).argmax(axis=0), np.arange(len(Q))]
    return np.asarray(Q * np.sign(largest), dtype=np.float32)


def _second_moments(vectors: np.ndarray) -> np.ndarray:
    """(D, D) mean outer product, summed in float64 a part at a time."""
    total = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 16):
        part = vectors[start : start + (1 << 16)].astype(np.float64)
        total += part.T @ part
    return total / len(vectors)


@dataclass(frozen=True, eq=False)
class Coarse:
    """Items as their columns of whole codewords say them, and what these are fitted to."""

    vectors: np.ndarray
    """(V, D) the items, rotated; unit vectors where they count by direction alone."""
    rotation: np.ndarray
    """(D, D) orthogonal."""
    empty: np.ndarray
    """(D,) the person of whom nothing is known."""
    cosine: bool
    """Items count by direction alone."""
    columns: list[Column]

    def rest(self) -> np.ndarray:
        """(V, D) what the columns leave over."""
        left = self.vectors.copy()
        for column in self.columns:
            left -= column.values()[column.bytes]
        return left


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
    """Codes of items (V, D), D a multiple of 8; the arguments are those of its two halves."""
    return finish(
        coarse(items, config, users=users, cosine=cosine, report=report), config,
        popularity=popularity, exponent=exponent, recency=recency, report=report,
    )  # fmt: skip


def coarse(
    items: np.ndarray,
    config: CompressionConfig,
    *,
    users: np.ndarray | None = None,
    cosine: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Coarse:
    """The rotation and the columns of whole codewords.

    Args:
        users: (U, D) users, where they are no sums of items.
        cosine: items count by direction alone; else by their length, too.
    """
    V, D = items.shape
    if D % BLOCK or V < 1:
        raise InputError(f"items of shape {items.shape}, expected blocks of {BLOCK} numbers")
    rotation = energy_rotation(items, users)
    vectors = np.ascontiguousarray(items @ rotation, dtype=np.float32)
    if cosine:
        vectors = unit(vectors)
    person = vectors if users is None else users @ rotation
    n_residual = config.residual_columns(V, D)
    report(f"{n_residual} residual codebooks")
    rng = np.random.default_rng(config.seed)
    columns = residual_columns(vectors.copy(), n_residual, config, rng)
    return Coarse(vectors, rotation, person.mean(axis=0), cosine, columns)


def finish(
    found: Coarse,
    config: CompressionConfig,
    *,
    popularity: np.ndarray | None = None,
    exponent: float = 0.0,
    recency: float = 0.0,
    report: Callable[[str], None] = lambda _: None,
) -> Codes:
    """The codes that begin with some columns; those of sub-vectors say what they leave over.

    Args:
        popularity: (V,) persons of each item.
        exponent: items are scored times their popularity to this power.
        recency: how much less older items of a history weigh.
    """
    rng = np.random.default_rng([config.seed, 1])
    columns, rest = list(found.columns), found.rest()
    for stage in range(config.stages):
        report(f"sub-vector stage {stage + 1} of {config.stages}")
        columns += subvector_columns(rest, config, rng)
    codes = assemble(
        columns, n_blocks=rest.shape[1] // BLOCK, rotation=found.rotation, empty=found.empty,
        popularity=_factors(popularity, exponent), cosine=found.cosine, recency=recency,
    )  # fmt: skip
    codes = with_gains(codes, found.vectors, n_items=config.measured_items)
    first = min(config.fewest_residual, len(columns))
    return with_unit(codes, first, n_items=config.measured_items, quantile=config.unit_quantile)


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
