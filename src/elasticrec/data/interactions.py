"""Who took what: user-item pairs with dense numbers, and the original ids behind the numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.ids import Ids

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Ids", "Interactions", "Pairs", "fingerprint"]


@dataclass(frozen=True)
class Pairs:
    """Distinct user-item pairs as an ascending item list per user (a CSR matrix, no values)."""

    indptr: np.ndarray
    """(U + 1,) int64: user u has `items[indptr[u]:indptr[u + 1]]`."""
    items: np.ndarray
    """(n,) int32: item numbers, ascending and distinct within a user."""
    n_items: int
    """How many items exist, seen here or not."""

    @property
    def n_users(self) -> int:
        """How many users exist, with pairs here or not."""
        return len(self.indptr) - 1

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def from_arrays(
        cls, users: np.ndarray, items: np.ndarray, *, n_users: int, n_items: int
    ) -> Pairs:
        """Pairs of two parallel arrays in any order; duplicates are merged."""
        key = users.astype(np.int64) * n_items + items
        key.sort()
        if len(key):
            key = key[np.concatenate(([True], key[1:] != key[:-1]))]
        rows, columns = np.divmod(key, n_items) if n_items else (key, key)
        indptr = np.zeros(n_users + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_users), out=indptr[1:])
        return cls(indptr, columns.astype(np.int32), n_items)

    def check(self) -> None:
        """Nothing, or a ValueError saying which promise of the fields is broken."""
        for array, kind in ((self.indptr, np.int64), (self.items, np.int32)):
            if array.ndim != 1 or array.dtype != kind:
                found = f"{array.dtype} with {array.ndim} axes"
                raise ValueError(f"an array of {found}, expected {kind.__name__} with 1")
        if not len(self.indptr) or self.indptr[0] != 0 or self.indptr[-1] != len(self.items):
            raise ValueError(f"row ends do not span the {len(self.items)} items")
        if (np.diff(self.indptr) < 0).any():
            raise ValueError("row ends fall, expected them to rise")
        if len(self.items) and not 0 <= self.items.min() <= self.items.max() < self.n_items:
            raise ValueError(
                f"item numbers reach from {self.items.min()} to {self.items.max()}, "
                f"expected 0 to {self.n_items - 1}"
            )
        key = self.keys()
        if (key[1:] <= key[:-1]).any():
            raise ValueError("items of a user are not ascending and distinct")

    def keys(self) -> np.ndarray:
        """(n,) int64: one ascending number per pair, `user * n_items + item`."""
        keys: np.ndarray = self.users.astype(np.int64) * self.n_items + self.items
        return keys

    @property
    def users(self) -> np.ndarray:
        """(n,) int32: the user of each pair, parallel to `items`."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.per_user)

    @property
    def per_user(self) -> np.ndarray:
        """(U,) how many items each user has."""
        return np.diff(self.indptr)

    @property
    def per_item(self) -> np.ndarray:
        """(V,) how many users each item has: its popularity."""
        return np.bincount(self.items, minlength=self.n_items)

    def of(self, user: int) -> np.ndarray:
        """The ascending item numbers of one user."""
        return self.items[self.indptr[user] : self.indptr[user + 1]]

    def rows(self, users: np.ndarray) -> Pairs:
        """The pairs of some users, in the order given; they become users 0, 1, …"""
        counts = self.per_user[users]
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
        return Pairs(
            indptr, self.items[np.repeat(self.indptr[users], counts) + within], self.n_items
        )

    def union(self, other: Pairs) -> Pairs:
        """The pairs of both; same users, same items."""
        return Pairs.from_arrays(
            np.concatenate([self.users, other.users]),
            np.concatenate([self.items, other.items]),
            n_users=self.n_users,
            n_items=self.n_items,
        )

    def renumbered(self, new_of_old: np.ndarray) -> Pairs:
        """The same pairs after item i became item `new_of_old[i]`."""
        return Pairs.from_arrays(
            self.users, new_of_old[self.items], n_users=self.n_users, n_items=self.n_items
        )

    def csr(self) -> csr_matrix:
        """(U, V) scipy matrix of float32 ones."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.items), dtype=np.float32)
        return csr_matrix((ones, self.items, self.indptr), shape=(self.n_users, self.n_items))


@dataclass(frozen=True)
class Interactions:
    """What a reader returns: pairs, the ids behind them, and times and titles where known."""

    pairs: Pairs
    """Who took what, in dense numbers."""
    user_ids: Ids
    """(U,) original ids of the users."""
    item_ids: Ids
    """(V,) original ids of the items."""
    times: np.ndarray | None = None
    """(n,) int64 parallel to `pairs.items`: when each pair first happened."""
    titles: np.ndarray | None = None
    """(V,) object array of str: one title per item, "" where unknown."""
    name: str = "data"
    """What this data is called in results and messages."""

    @classmethod
    def of_columns(
        cls,
        users: np.ndarray,
        items: np.ndarray,
        user_ids: Ids,
        item_ids: Ids,
        *,
        times: np.ndarray | None = None,
        name: str = "data",
    ) -> Interactions:
        """Interactions of parallel dense numbers in any order; of duplicates the earliest stays."""
        shape = {"n_users": len(user_ids), "n_items": len(item_ids)}
        pairs = Pairs.from_arrays(users, items, **shape)
        if times is not None:
            key = users.astype(np.int64) * len(item_ids) + items
            order = np.lexsort((times, key))
            first = np.diff(key[order], prepend=-1) > 0
            times = times[order][first]
        return cls(pairs, user_ids, item_ids, times=times, name=name)


def fingerprint(arrays: dict[str, np.ndarray]) -> str:
    """Hex sha256 over names, types, shapes and bytes of arrays, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes() if array.size else b"")
    return digest.hexdigest()
