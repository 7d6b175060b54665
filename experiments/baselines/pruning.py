"""Magnitude pruning of a table trained as ours is: the largest numbers are kept, the rest is zero.

Values and where they stand are both charged, in whichever packing keeps more values: a bit for
every number of the table, or a byte for the place of each value kept. Left open: the basis (tried
as trained and turned along the axes of most energy, where the large numbers gather), the values'
type (bytes with a scale for each dimension, or halves; bytes keep twice as many), and training
after pruning, which is left out. Where all numbers fit as bytes, halves are taken if they fit, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from experiments.baselines.contract import BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import kept_vectors, our_config

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


EPOCHS = 28
VALUE_BYTES = {"int8": 1, "float16": 2}
TRIALS: list[dict[str, Any]] = [
    {"dimensions": 128, "turn": "energy", "values": "int8"},
    {"dimensions": 128, "turn": "none", "values": "int8"},
    {"dimensions": 128, "turn": "scored", "values": "int8"},
    {"dimensions": 256, "turn": "energy", "values": "int8"},
]


class Kept(NamedTuple):
    """The number of kept values, their type, and the packing of their places."""

    n: int
    values: str
    """`int8` or `float16`."""
    by_bits: bool
    """A bit for each number of the table, or else a byte for the place of each value."""


@dataclass(frozen=True)
class Pruning:
    """One training, and as many of its numbers for each budget as fit."""

    name: str = "pruning"
    losses: tuple[str, ...] = ("ours",)
    sizes: str = "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        del loss
        return TRIALS

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        del loss  # ours alone
        V, D = split.n_items, settings["dimensions"]
        kept = best_packing(self.name, V, D, settings["values"], budget)
        config = our_config(split, D, settings, seed, epochs or EPOCHS)
        trained = kept_vectors(split, config, device)
        started = time.perf_counter()
        users, items = turned(trained.users, trained.items, settings["turn"])
        stored = prune(items, kept)
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted("pruning", stored, users, D, seconds).within(budget)


def best_packing(method: str, n_items: int, dimensions: int, values: str, budget: Budget) -> Kept:
    """The packing that keeps most values, at least one for every item; halves if all fit so."""
    V, D = n_items, dimensions
    left = budget.n_bytes - 2 * FLOAT_BYTES * D  # a person's vector, and a scale per dimension
    found = []
    for name in dict.fromkeys((values, "int8", "float16")):
        each = VALUE_BYTES[name]
        by_bits = min(V * D, (left - V * -(-D // 8)) // each)
        by_places = min(V * D, (left - V) // (each + 1)) if D <= 256 else 0
        best = max(by_bits, by_places)
        found.append(Kept(best, name, by_bits >= by_places))
    chosen = found[0]
    if found[0].n >= V * D:
        chosen = max(found, key=lambda kept: (kept.n, VALUE_BYTES[kept.values]))
    if chosen.n < V:
        smallest = 2 * FLOAT_BYTES * D + V * (VALUE_BYTES[values] + 2)
        smallest = min(smallest, 2 * FLOAT_BYTES * D + V * (-(-D // 8) + VALUE_BYTES[values]))
        raise BudgetTooSmall(method, budget, smallest)
    return chosen


def prune(items: np.ndarray, kept: Kept) -> dict[str, np.ndarray]:
    """The largest values of a table (V, D), as they are stored."""
    V, D = items.shape
    largest = np.zeros(V * D, dtype=bool)
    order = np.argpartition(-np.abs(items.reshape(-1)), min(kept.n, V * D) - 1)
    largest[order[: kept.n]] = True
    mask = largest.reshape(V, D)
    if not kept.by_bits:  # a byte counts an item's values
        mask[mask.sum(axis=1) > 255, D - 1] = False
    top = np.abs(items).max(axis=0)
    scales = np.maximum(top / 127, 1e-12).astype(np.float32)
    if kept.values == "int8":
        values = np.clip(np.rint(items / scales), -127, 127).astype(np.int8)[mask]
    else:
        values = (items / scales).astype(np.float16)[mask]
    stored = {"scales": scales, "values": values}
    if kept.by_bits:
        return stored | {"mask": np.packbits(mask, axis=1)}
    places = np.nonzero(mask)[1].astype(np.uint8)
    return stored | {"places": places, "counts": mask.sum(axis=1).astype(np.uint8)}


@decoder("pruning")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) the values at their places, zeros elsewhere."""
    scales, values = stored["scales"], stored["values"].astype(np.float32)
    if "mask" in stored:
        mask = np.unpackbits(stored["mask"], axis=1, count=len(scales)).astype(bool)
        items = np.zeros(mask.shape, dtype=np.float32)
        items[mask] = values
    else:
        counts = stored["counts"].astype(np.int64)
        items = np.zeros((len(counts), len(scales)), dtype=np.float32)
        items[np.repeat(np.arange(len(counts)), counts), stored["places"]] = values
    return items * scales


PRUNING = Pruning()
