"""Pairs: distinct user-item pairs in dense numbers, in memory or mapped from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.spool import AT_ONCE, Spool, release
from elasticrec.engine import ranges

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Pairs:
    """Distinct user-item pairs as an ascending item list per user (a CSR matrix)."""

    indptr: np.ndarray
    """(U + 1,) int64: user u has `items[indptr[u]:indptr[u + 1]]`."""
    items: np.ndarray
    """(n,) int32: item numbers, ascending and distinct within a user."""
    n_items: int
    """Number of items, seen here or not."""
    order: np.ndarray | None = None
    """(n,) int32: each pair's place among its user's pairs, the oldest smallest, gaps allowed;
    None where no order is known."""
    weights: np.ndarray | None = None
    """(n,) float32 above 0: how much training makes of each pair; None where all count alike."""

    def __repr__(self) -> str:
        return f"Pairs({len(self):,} of {self.n_users:,} users and {self.n_items:,} items)"

    @property
    def n_users(self) -> int:
        """Number of users, with pairs here or not."""
        return len(self.indptr) - 1

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def from_arrays(
        cls,
        users: np.ndarray,
        items: np.ndarray,
        *,
        n_users: int,
        n_items: int,
        order: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Pairs:
        """Pairs of parallel arrays in any sequence; of duplicates the first in order stays.

        Weights of duplicates add up.
        """
        key = users.astype(np.int64) * n_items + items
        if order is None and weights is None:
            key.sort()
        else:
            by_key = np.lexsort((key,) if order is None else (order, key))
            key = key[by_key]
            order = None if order is None else order[by_key]
            weights = None if weights is None else weights[by_key]
        first = np.concatenate(([True], key[1:] != key[:-1]))[: len(key)]
        key = key[first]
        if weights is not None and len(weights):
            weights = np.add.reduceat(weights.astype(np.float64), np.flatnonzero(first))
        rows, columns = np.divmod(key, n_items) if n_items else (key, key)
        indptr = np.zeros(n_users + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_users), out=indptr[1:])
        return cls(
            indptr, columns.astype(np.int32), n_items, None if order is None else order[first],
            None if weights is None else weights.astype(np.float32),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Iterable[Pairs], n_items: int) -> Pairs:
        """The pairs of the users of all parts, one part after the other."""
        spools = Spool(np.int32), Spool(np.int32), Spool(np.float32)
        counts, known = [np.zeros(1, dtype=np.int64)], (True, False, False)
        for part in parts:
            counts.append(part.per_user)
            columns = part.items, part.order, part.weights
            known = True, part.order is not None, part.weights is not None
            for spool, values in zip(spools, columns, strict=True):
                if values is not None:
                    spool.add(values)
        items, order, weights = (spool.array() for spool in spools)
        return cls(
            np.cumsum(np.concatenate(counts)), items, n_items,
            order if known[1] else None, weights if known[2] else None,
        )  # fmt: skip

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Some users after the other, and the places of their pairs: few enough to work with.

        The memory of mapped pairs is given back after each block.
        """
        for start, stop in ranges(self.per_user, AT_ONCE):
            yield slice(start, stop), slice(*self.indptr[[start, stop]].tolist())
            release(self.items, self.order, self.weights)

    def span(self, users: slice) -> Pairs:
        """The pairs of users who follow each other, as views; they become users 0, 1, …"""
        indptr = self.indptr[users.start : users.stop + 1]
        return self._at(slice(int(indptr[0]), int(indptr[-1])), indptr - indptr[0])

    def _at(self, places: np.ndarray | slice, indptr: np.ndarray) -> Pairs:
        """The pairs at some places, between new row ends."""
        order = None if self.order is None else self.order[places]
        weights = None if self.weights is None else self.weights[places]
        return Pairs(indptr, self.items[places], self.n_items, order, weights)

    def check(self) -> None:
        """Raise a ValueError where fields do not fit together."""
        n, kinds = len(self.items), {"row ends": np.int64, "weights": np.float32}
        columns = {"row ends": self.indptr, "items": self.items, "places": self.order}
        for name, array in (columns | {"weights": self.weights}).items():
            kind = kinds.get(name, np.int32)
            if array is not None and (array.ndim != 1 or array.dtype != kind):
                found = f"{array.dtype} with {array.ndim} axes"
                raise ValueError(f"{name} are {found}, expected {kind.__name__} with 1")
            if array is not None and len(array) != n and name != "row ends":
                raise ValueError(f"{len(array)} {name} for {n} pairs")
        if not len(self.indptr) or self.indptr[0] != 0 or self.indptr[-1] != len(self.items):
            raise ValueError(f"row ends do not span the {n} items")
        if (np.diff(self.indptr) < 0).any():
            raise ValueError("row ends fall, expected them to rise")
        if n and not 0 <= self.items.min() <= self.items.max() < self.n_items:
            found = f"{self.items.min()} to {self.items.max()}"
            raise ValueError(f"item numbers reach from {found}, expected 0 to {self.n_items - 1}")

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
        """(U,) number of items of each user."""
        return np.diff(self.indptr)

    @property
    def per_item(self) -> np.ndarray:
        """(V,) number of users of each item: its popularity."""
        counts = np.zeros(self.n_items, dtype=np.int64)
        for _, at in self.blocks():
            counts += np.bincount(self.items[at], minlength=self.n_items)
        return counts

    def of(self, user: int) -> np.ndarray:
        """The ascending item numbers of one user."""
        return self.items[self.indptr[user] : self.indptr[user + 1]]

    def rows(self, users: np.ndarray) -> Pairs:
        """The pairs of some users, in the sequence given; they become users 0, 1, …"""
        counts = self.per_user[users]
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        at = np.repeat(self.indptr[users], counts)
        at += np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
        return self._at(at, indptr)

    def where(self, chosen: np.ndarray) -> Pairs:
        """The pairs where the boolean array holds, over the same users and items."""

        def part(users: slice, at: slice) -> Pairs:
            whole, kept = self.span(users), chosen[at]
            ends = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[whole.indptr]
            return whole._at(kept, ends)

        return Pairs.joined((part(*block) for block in self.blocks()), self.n_items)

    def ages(self) -> np.ndarray | None:
        """(n,) number of the user's newer items, for each pair; None where no order is known."""
        return None if self.order is None else self.rank(-self.order)

    def union(self, other: Pairs) -> Pairs:
        """The pairs of both, over the same users and items; ordered and weighted if both are."""

        def part(users: slice) -> Pairs:
            a, b = self.span(users), other.span(users)
            order = weights = None
            if a.order is not None and b.order is not None:
                order = np.concatenate([a.order, b.order])
            if a.weights is not None and b.weights is not None:
                weights = np.concatenate([a.weights, b.weights])
            both = np.concatenate([a.users, b.users]), np.concatenate([a.items, b.items])
            return Pairs.from_arrays(
                *both, n_users=a.n_users, n_items=self.n_items, order=order, weights=weights
            )

        return Pairs.joined((part(users) for users, _ in self.blocks()), self.n_items)

    def renumbered(self, new_of_old: np.ndarray) -> Pairs:
        """The same pairs after item i became item `new_of_old[i]`."""

        def part(old: Pairs) -> Pairs:
            return Pairs.from_arrays(
                old.users, new_of_old[old.items], n_users=old.n_users, n_items=old.n_items,
                order=old.order, weights=old.weights,
            )  # fmt: skip

        return Pairs.joined((part(self.span(users)) for users, _ in self.blocks()), self.n_items)

    def rank(self, key: np.ndarray) -> np.ndarray:
        """(n,) int32: each pair's place, from 0, among its user's pairs by rising key."""
        ranks = Spool(np.int32)
        for users, at in self.blocks():
            part = self.span(users)
            rank = np.empty(len(part), dtype=np.int32)
            by_user = np.lexsort((key[at], part.users))
            rank[by_user] = np.arange(len(part)) - np.repeat(part.indptr[:-1], part.per_user)
            ranks.add(rank)
            release(key)
        return ranks.array()

    def history(self, users: np.ndarray | None = None) -> list[np.ndarray]:
        """The items of each user (default: all), oldest first; by number if no order is known."""
        rows = self if users is None else self.rows(users)
        items = rows.items
        if rows.order is not None:
            items = items[np.lexsort((rows.order, rows.users))]
        return np.split(items, rows.indptr[1:-1])

    def csr(self, recency: float = 0.0) -> csr_matrix:
        """(U, V) scipy matrix of float32: 1 / (1 + recency · age), ones where ages are unknown."""
        from scipy.sparse import csr_matrix

        data, ages = np.ones(len(self.items), np.float32), self.ages() if recency else None
        if ages is not None:
            data = (1 / (1 + recency * ages)).astype(np.float32)
        return csr_matrix((data, self.items, self.indptr), shape=(self.n_users, self.n_items))
