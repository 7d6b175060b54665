"""Vectors turned before they are coded: no ranking changes, and errors can be kept small."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

Turn = Literal["none", "energy", "scored"]


class Turned(NamedTuple):
    """Users and items whose products rank as before."""

    users: np.ndarray
    """(U, D) float32."""
    items: np.ndarray
    """(V, D) float32, their mean taken away: it adds the same to all scores of a user."""


def turned(users: np.ndarray, items: np.ndarray, how: Turn) -> Turned:
    """Users and items in another basis, in which a device is sent both.

    Args:
        how: `none`, as they are; `energy`, along the items' principal axes, the longest first;
            `scored`, the same after stretching so that a squared error in an item is the mean
            squared error in its scores.
    """
    U, E = users.astype(np.float64), items.astype(np.float64)
    E = E - E.mean(axis=0)
    if how == "none":
        return Turned(users, E.astype(np.float32))
    if how == "scored":
        moment = U.T @ U / len(U)
        values, axes = np.linalg.eigh(moment)
        stretch = np.sqrt(np.maximum(values, 1e-6 * values.max()))
        U, E = U @ axes / stretch, E @ axes * stretch
    _, axes = np.linalg.eigh(E.T @ E)
    axes = axes[:, ::-1]  # the longest first
    return Turned((U @ axes).astype(np.float32), (E @ axes).astype(np.float32))
