"""Split: train, validation and test pairs of one data set, in one file, and their counts."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.files import Arrays, check_readable, mapped_arrays

PARTS = ("train", "validation", "test")
UNREADABLE = (
    *(ValueError, TypeError, OverflowError, OSError, EOFError),
    *(RuntimeError, zipfile.BadZipFile, zlib.error),  # a flipped bit may claim encryption
)
"""Errors of numpy and zipfile over a file that is no sound archive of plain arrays."""


@dataclass(frozen=True)
class Split(Arrays):
    """Three disjoint sets of pairs over the same users and items."""

    train: Pairs
    """Pairs that a model learns from."""
    validation: Pairs
    """Pairs that settings are chosen by."""
    test: Pairs
    """Pairs that results are measured on."""
    user_ids: Ids
    """(U,) original ids of the users."""
    item_ids: Ids
    """(V,) original ids of the items."""
    titles: np.ndarray | None = None
    """(V,) object array of str, or None."""
    name: str = "data"
    """The data set's name in results: `goodbooks`, `gowalla`, …"""
    kind: str = "random-70-10-20"
    """Origin of the parts: `random-70-10-20`, `last-70-10-20`, `temporal-70-10-20`; of a published
    train and test, by the choice of validation from train: `published-last`, `published-random`."""

    def __repr__(self) -> str:
        pairs = len(self.train) + len(self.validation) + len(self.test)
        counts = f"{self.n_users:,} users, {self.n_items:,} items, {pairs:,} interactions"
        return f"Split({self.name!r}, {counts}, {self.kind})"

    @property
    def n_users(self) -> int:
        """Number of users, with pairs or not."""
        return self.train.n_users

    @property
    def n_items(self) -> int:
        """Number of items, in train or not."""
        return self.train.n_items

    def history(self, users: np.ndarray | None = None) -> list[np.ndarray]:
        """The train items of each user (default: all), oldest first; else by number."""
        return self.train.history(users)

    def check(self) -> None:
        """Raise a ValueError where fields do not fit together."""
        for part in PARTS:
            pairs: Pairs = getattr(self, part)
            pairs.check()
            if (pairs.n_users, pairs.n_items) != (self.n_users, self.n_items):
                raise ValueError(f"{part} counts {pairs.n_users} users, train {self.n_users}")
        titles = self.item_ids if self.titles is None else self.titles
        counts = (len(self.user_ids), len(self.item_ids), len(titles))
        if counts != (self.n_users, self.n_items, self.n_items):
            raise ValueError(
                f"{counts[0]} user ids, {counts[1]} item ids, {counts[2]} titles, "
                f"expected {self.n_users}, {self.n_items}, {self.n_items}"
            )
        self.user_ids.check()
        self.item_ids.check()

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        out = {name: np.array(getattr(self, name)) for name in ("n_items", "name", "kind")}
        for part, column in product(PARTS, ("indptr", "items", "order", "weights")):
            values = getattr(getattr(self, part), column)
            if values is not None:
                out[f"{part}.{column}"] = values
        out |= self.user_ids.arrays("user_ids") | self.item_ids.arrays("item_ids")
        if self.titles is not None:
            out |= Ids(self.titles).arrays("titles")
        return out

    @classmethod
    def load(cls, path: Path | str) -> Split:
        """The split that `save` wrote, mapped; needs numpy alone. Any other file is refused."""
        path = check_readable(path)
        expected = "expected a split written by `elasticrec data prepare`"
        try:
            with path.open("rb") as file:
                if not zipfile.is_zipfile(file):
                    way = "" if path.suffix == ".npz" else f"; `elasticrec fit {path}` reads tables"
                    raise InputError(f"{path}: is no split, {expected}{way}")
            split = cls._from_arrays(mapped_arrays(path))
            split.check()
        except InputError:
            raise
        except KeyError as error:
            missing = str(error.args[0]).split(" ")[0]  # numpy adds "is not a file in the archive"
            raise InputError(f"{path}: has no {missing!r}, {expected}") from None
        except UNREADABLE as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{path}: cannot be used ({reason}), {expected}") from None
        return split

    @classmethod
    def _from_arrays(cls, stored: Mapping[str, np.ndarray]) -> Split:
        """The split that `arrays` gave."""
        n_items = int(stored["n_items"])
        parts = {
            part: Pairs(
                *(stored[f"{part}.indptr"], stored[f"{part}.items"]), n_items,
                *(stored.get(f"{part}.order"), stored.get(f"{part}.weights")),
            )
            for part in PARTS
        }  # fmt: skip
        has_titles = any(key.startswith("titles.") for key in stored)
        return cls(
            **parts, user_ids=Ids.from_arrays("user_ids", stored),
            item_ids=Ids.from_arrays("item_ids", stored),
            titles=Ids.from_arrays("titles", stored).values if has_titles else None,
            name=str(stored["name"]), kind=str(stored["kind"]),
        )  # fmt: skip

    def all_known(self) -> Split:
        """The split whose train is all of train and validation; nothing is left to choose by."""
        empty = self.validation.where(np.zeros(len(self.validation), dtype=bool))
        return replace(self, train=self.train.union(self.validation), validation=empty)

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


@dataclass(frozen=True)
class Counts:
    """Sizes of one set of pairs."""

    part: str
    """`all`, `train`, `validation` or `test`."""
    users: int
    """Users with at least one pair; for `all`, every user."""
    items: int
    """Items with at least one pair; for `all`, every item."""
    interactions: int
    """Distinct pairs."""
    per_user: tuple[int, int]
    """Fewest and most pairs of those users."""
    known: int = 0
    """Users with at least one pair who have train items."""

    @property
    def sparsity(self) -> float:
        """The share of user-item cells without an interaction."""
        return 1 - self.interactions / max(self.users * self.items, 1)


def count(split: Split) -> list[Counts]:
    """The counts of the whole data set, then of each part."""
    parts: list[Pairs] = [getattr(split, part) for part in PARTS]
    n_pairs, known = sum(map(len, parts)), split.train.per_user > 0
    per_user = np.sum([pairs.per_user for pairs in parts], axis=0)
    counted = [Counts("all", split.n_users, split.n_items, n_pairs, _span(per_user))]
    for part, pairs in zip(PARTS, parts, strict=True):
        of_part = pairs.per_user, pairs.per_item, pairs.per_user[known]
        users, items, in_train = (int(np.count_nonzero(each)) for each in of_part)
        counted.append(Counts(part, users, items, len(pairs), _span(pairs.per_user), in_train))
    return counted


def _span(per_user: np.ndarray) -> tuple[int, int]:
    """Fewest and most pairs among users who have some."""
    some = per_user[per_user > 0]
    return (int(some.min()), int(some.max())) if len(some) else (0, 0)
