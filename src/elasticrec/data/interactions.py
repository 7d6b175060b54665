"""Who took what: user-item pairs with dense numbers, and the original ids behind the numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Pairs:
    """Distinct user-item pairs as one ascending item list per user (a CSR matrix without values)."""

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
class Ids:
    """Original ids in dense order: integers (of any size) or strings."""

    values: np.ndarray
    """(n,) int64, or object holding only `int` (beyond 64 bits) or only `str`."""

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def dense(cls, n: int) -> Ids:
        """The numbers 0 … n - 1 as their own ids."""
        return cls(np.arange(n, dtype=np.int64))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Ids:
        """Ids from any iterable of ints or of strings; int64 where they fit."""
        listed = [v.item() if isinstance(v, np.generic) else v for v in values]
        if all(isinstance(v, int) for v in listed):
            if all(-(2**63) <= v < 2**63 for v in listed):
                return cls(np.array(listed, dtype=np.int64))
        elif not all(isinstance(v, str) for v in listed):
            kinds = sorted({type(v).__name__ for v in listed})
            raise ValueError(f"ids are a mix of {', '.join(kinds)}; expected all int or all str")
        out = np.empty(len(listed), dtype=object)
        out[:] = listed
        return cls(out)

    def take(self, numbers: np.ndarray) -> Ids:
        """The ids of some dense numbers."""
        return Ids(self.values[numbers])

    def of_number(self, number: int) -> int | str:
        """The original id of one dense number, as a Python int or str."""
        value = self.values[number]
        return value.item() if isinstance(value, np.generic) else value

    def numbers(self, wanted: Iterable[Any]) -> np.ndarray:
        """Dense numbers of ids, -1 where unknown; text that spells an integer id matches it."""
        listed = list(wanted)
        integers = len(self.values) == 0 or not isinstance(self.values[0], str)
        if integers:
            listed = [_as_int(v) for v in listed]
        else:
            listed = [str(v) for v in listed]
        lookup = {v: i for i, v in enumerate(self.values.tolist())}
        return np.array([lookup.get(v, -1) for v in listed], dtype=np.int64)

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The ids as plain arrays that `np.savez` stores without pickling."""
        if self.values.dtype != object:
            return {f"{name}.int64": self.values}
        kind = "str" if len(self.values) and isinstance(self.values[0], str) else "int"
        encoded = [str(v).encode("utf-8") for v in self.values]
        ends = np.cumsum([len(e) for e in encoded], dtype=np.int64)
        return {
            f"{name}.{kind}.ends": ends,
            f"{name}.{kind}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, name: str, stored: Any) -> Ids:
        """The ids that `arrays(name)` gave."""
        if f"{name}.int64" in stored:
            return cls(stored[f"{name}.int64"])
        kind = "str" if f"{name}.str.ends" in stored else "int"
        data = stored[f"{name}.{kind}.utf8"].tobytes()
        ends = stored[f"{name}.{kind}.ends"].tolist()
        out = np.empty(len(ends), dtype=object)
        starts = [0, *ends[:-1]]
        texts = [data[a:b].decode("utf-8") for a, b in zip(starts, ends, strict=True)]
        out[:] = texts if kind == "str" else [int(t) for t in texts]
        return cls(out)


def _as_int(value: Any) -> Any:
    """The value as an int where it spells one; anything else as it is."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Interactions:
    """What a reader returns: pairs, the ids behind them, and times and titles where known."""

    pairs: Pairs
    user_ids: Ids
    item_ids: Ids
    times: np.ndarray | None = None
    """(n,) int64 parallel to `pairs.items`: when each pair first happened."""
    titles: np.ndarray | None = None
    """(V,) object array of str: one title per item, "" where unknown."""
    name: str = "data"
    """What this data is called in results and messages."""


def fingerprint(arrays: dict[str, np.ndarray]) -> str:
    """Hex sha256 over names, types, shapes and bytes of some arrays, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes() if array.size else b"")
    return digest.hexdigest()
