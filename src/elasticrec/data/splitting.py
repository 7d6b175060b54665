"""Split: train, validation and test pairs of one data set, in one file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elasticrec.data.interactions import Ids, Pairs, fingerprint

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Split:
    """Three disjoint sets of pairs over the same users and items."""

    train: Pairs
    validation: Pairs
    test: Pairs
    user_ids: Ids
    item_ids: Ids
    titles: np.ndarray | None = None
    """(V,) object array of str, or None."""
    name: str = "data"
    """The data set's name in results: `goodbooks`, `gowalla`, …"""
    kind: str = "random-70-10-20"
    """`published`, `random-70-10-20` or `temporal`."""

    @property
    def n_users(self) -> int:
        return self.train.n_users

    @property
    def n_items(self) -> int:
        return self.train.n_items

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        out = {"n_items": np.array(self.n_items), "name": np.array(self.name)}
        out["kind"] = np.array(self.kind)
        for part in PARTS:
            pairs: Pairs = getattr(self, part)
            out[f"{part}.indptr"] = pairs.indptr
            out[f"{part}.items"] = pairs.items
        out |= self.user_ids.arrays("user_ids") | self.item_ids.arrays("item_ids")
        if self.titles is not None:
            out |= Ids(self.titles).arrays("titles")
        return out

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        path = Path(path)
        partial = path.with_name(path.name + ".part")
        with partial.open("wb") as file:
            np.savez_compressed(file, **self.arrays())
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path | str) -> Split:
        """The split that `save` wrote; needs numpy alone."""
        with np.load(path, allow_pickle=False) as stored:
            n_items = int(stored["n_items"])
            parts = {
                part: Pairs(stored[f"{part}.indptr"], stored[f"{part}.items"], n_items)
                for part in PARTS
            }
            has_titles = any(key.startswith("titles.") for key in stored)
            return cls(
                **parts,
                user_ids=Ids.from_arrays("user_ids", stored),
                item_ids=Ids.from_arrays("item_ids", stored),
                titles=Ids.from_arrays("titles", stored).values if has_titles else None,
                name=str(stored["name"]),
                kind=str(stored["kind"]),
            )

    def renumbered(self, order: np.ndarray) -> Split:
        """The same split with items in a new order: new item k is old item `order[k]`."""
        new_of_old = np.empty(len(order), dtype=np.int64)
        new_of_old[order] = np.arange(len(order))
        return replace(
            self,
            **{part: getattr(self, part).renumbered(new_of_old) for part in PARTS},
            item_ids=self.item_ids.take(order),
            titles=None if self.titles is None else self.titles[order],
        )
