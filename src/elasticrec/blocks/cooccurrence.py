"""Each item's co-occurring items: a term of the loss, and a source of neighbours."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.data.interactions import Pairs, fingerprint


@dataclass(frozen=True)
class Cooccurrence:
    """The top-k co-occurring items of each item, strongest first."""

    items: np.ndarray
    """(V, k) int32; -1 where an item has fewer than k."""
    weights: np.ndarray
    """(V, k) float32; 0 where there is none."""

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint({"items": self.items, "weights": self.weights})

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        path = Path(path)
        partial = path.with_name(path.name + ".part")
        with partial.open("wb") as file:
            np.savez_compressed(file, items=self.items, weights=self.weights)
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path | str) -> Cooccurrence:
        """The lists that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["items"], stored["weights"])

    def renumbered(self, order: np.ndarray) -> Cooccurrence:
        """The same lists with items in a new order: new item k is old item `order[k]`."""
        new_of_old = np.empty(len(order) + 1, dtype=np.int32)
        new_of_old[order] = np.arange(len(order), dtype=np.int32)
        new_of_old[-1] = -1
        return Cooccurrence(new_of_old[self.items[order]], self.weights[order])


def count_cooccurrence(train: Pairs, k: int = 10, chunk: int = 4096) -> Cooccurrence:
    """Top-k items by degree-normalised co-occurrence, Σ_u 1/(|u|·√(|i||j|)) over shared users.

    The normalisation is LightGCN's (the two-step walk item-user-item), so a person who took
    thousands of items says little about any two of them. Ties go to the lower item number.
    """
    from scipy.sparse import diags

    R = train.csr()
    users = 1 / np.maximum(train.per_user, 1)
    items = 1 / np.sqrt(np.maximum(train.per_item, 1))
    left = (diags(items) @ R.T).tocsr()  # (V, U)
    right = (diags(users) @ R @ diags(items)).tocsr()  # (U, V)
    lists = np.full((train.n_items, k), -1, dtype=np.int32)
    weights = np.zeros((train.n_items, k), dtype=np.float32)
    for start in range(0, train.n_items, chunk):
        product = (left[start : start + chunk] @ right).astype(np.float32).tocsr()
        _take_top(product, start, lists, weights)
    return Cooccurrence(lists, weights)


def _take_top(product: object, start: int, lists: np.ndarray, weights: np.ndarray) -> None:
    """Write the strongest entries of each sparse row, itself left out, into the lists."""
    k = lists.shape[1]
    indptr, columns, values = product.indptr, product.indices, product.data  # type: ignore[attr-defined]
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    keep = columns != rows + start
    rows, columns, values = rows[keep], columns[keep], values[keep]
    counts = np.bincount(rows, minlength=len(indptr) - 1)
    ends = np.cumsum(counts)
    for row in range(len(counts)):
        part = slice(ends[row] - counts[row], ends[row])
        order = _strongest(values[part], columns[part], k)
        lists[start + row, : len(order)] = columns[part][order]
        weights[start + row, : len(order)] = values[part][order]


def _strongest(values: np.ndarray, columns: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k largest values, falling; equal values by rising column."""
    if len(values) > 4 * k:
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        candidates = np.flatnonzero(values >= threshold)
        order = np.lexsort((columns[candidates], -values[candidates]))
        return candidates[order[:k]]
    return np.lexsort((columns, -values))[:k]
