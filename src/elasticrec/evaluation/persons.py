"""Vectors of persons as a device has them: from the server, or folded in from a history."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.compression.codes import Codes
    from elasticrec.data.interactions import Pairs
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.space.composition import Composition

DEEPEST = 8


def server_vectors(model: CodedModel, users: np.ndarray) -> np.ndarray:
    """(n, D) float32 vectors of some users as their files hold them: turned, unit, in float16."""
    if model.users is None:
        raise InputError("this model has no user vectors; its persons are known by history alone")
    turned = model.users[users] @ model.codes.rotation
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    return (turned / np.where(lengths > 0, lengths, 1)).astype(np.float16).astype(np.float32)


def folded_vectors(
    model: CodedModel,
    histories: Pairs,
    composition: Composition | None = None,
    *,
    with_map: bool = False,
) -> np.ndarray:
    """(n, D) float32 vectors that histories give on a device: normalised sums of unit items.

    An empty history gives the mean person.

    Args:
        composition: what the device keeps of the items; None for all planes, which no composition
            changes, as an evaluation by cached rows needs it.
        with_map: whether the sum goes through the stored D×D map.
    """
    codes = model.codes
    if composition is None:
        depths = np.full((codes.n_groups, codes.n_blocks), DEEPEST, dtype=np.uint8)
        with_gain = bool((codes.rows == DEEPEST).all(axis=1).any())
    else:
        depths, with_gain = composition.depths, True
    taken = histories.csr().astype(np.float64).tocsc()
    sums = np.zeros((histories.n_users, codes.dimensions))
    for g, (lo, hi) in enumerate(pairwise(codes.bounds.tolist())):
        x = codes.decode(lo, hi, depths[g], with_gain=with_gain).astype(np.float64)
        sums += taken[:, lo:hi] @ _unit(x)
    vectors = _unit(sums)
    if with_map:
        vectors = vectors @ stored_map(codes, model.fold_map).astype(np.float64)
    vectors[histories.per_user == 0] = codes.person
    return np.asarray(vectors, dtype=np.float32)


def stored_map(codes: Codes, fold_map: np.ndarray | None) -> np.ndarray:
    """(D, D) float16: a table's map turned as the codes are, as a bundle holds it."""
    if fold_map is None:
        raise InputError("this model has no map from a history to a vector")
    R = codes.rotation
    return np.asarray((R.T @ fold_map @ R).astype(np.float16))


def _unit(vectors: np.ndarray) -> np.ndarray:
    """The same vectors, each divided by its length where that is above 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))
