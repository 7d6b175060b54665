"""An attacker who knows two rare items of a person and reads a stream for others.

She names five items and is right as often as the person has them. What counts is how much more
often she is right about members, who were in the data, than about others of the same tastes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.interactions import Pairs
from elasticrec.space import Composition
from elasticrec.training.table import unit

KNOWN, GUESSES = 2, 5
"""Items that the attacker knows of a person, and that she names."""
FEWEST = 4
"""Persons with fewer train items have too little to be guessed."""
VOTE = 0.3
"""The cosine that the strongest vote counts for, where both are read."""
CODES = "codes"
NEAR: dict[str, Callable[..., np.ndarray]] = {"sum": np.add, "smaller": np.minimum}
"""How cosines with the known items are joined."""


class Extra(NamedTuple):
    """Correct guesses per person, of members beyond the others."""

    extra: float
    """Members' mean less the others'."""
    error: float
    """Standard error of that difference."""
    members: float
    """Correct guesses per member."""
    others: float
    """Correct guesses per person who is in no list and no vector."""


@dataclass(frozen=True, eq=False)
class Persons:
    """Members and others, of whom the attacker knows the rarest items."""

    train: Pairs
    """Everyone's items."""
    users: np.ndarray
    """(n,) who is attacked."""
    member: np.ndarray
    """(n,) bool: who was in the data."""
    known: np.ndarray
    """(n, 2) each person's items that the fewest have."""

    @classmethod
    def draw(cls, train: Pairs, members: np.ndarray, most: int, seed: int) -> Persons:
        """Some members, and as many others.

        Args:
            members: (U,) bool.
            most: of each, at most; 0 takes all.
        """
        rng = np.random.default_rng(seed)
        able = train.per_user >= FEWEST
        sides = [np.flatnonzero(able & side) for side in (members, ~members)]
        n = min(*map(len, sides), most or train.n_users)
        users = np.concatenate([rng.choice(side, n, replace=False) for side in sides])
        popularity = train.per_item
        rarest = [items[np.argsort(popularity[items], kind="stable")[:KNOWN]]
                  for items in map(train.of, users)]  # fmt: skip
        return cls(train, users, members[users], np.stack(rarest).astype(np.int64))

    def extra(self, guesses: np.ndarray) -> Extra:
        """What guesses (n, 5) reveal; -1 guesses nothing."""
        pairs = self.users[:, None].astype(np.int64) * self.train.n_items + guesses
        right = ((guesses >= 0) & np.isin(pairs, self.train.keys())).sum(axis=1)
        sides = right[self.member], right[~self.member]
        members, others = (float(side.mean()) for side in sides)
        error = sqrt(sum(float(side.var()) / max(len(side), 1) for side in sides))
        return Extra(members - others, error, members, others)


def readings(lists: Neighbours, slots: np.ndarray | int = 64) -> dict[str, csr_matrix]:
    """(V, V) how strongly lists lead from a known item (row) to another one, 1 at most.

    An attacker looks into the known items' own lists, or also for the lists that name them.

    Args:
        slots: neighbours of each item that she sees.
    """
    seen = np.arange(lists.slots) < np.broadcast_to(slots, lists.n_items)[:, None]
    target, slot = np.nonzero(seen & (lists.votes > 0))
    worth = (lists.values[lists.votes[target, slot]] / lists.values.max()).astype(np.float32)
    voter = lists.numbers[target, slot].astype(np.int64)
    own = csr_matrix((worth, (target, voter)), shape=(lists.n_items, lists.n_items))
    return {"own lists": own, "all lists": (own + own.T).tocsr()}


def guesses_by_lists(votes: csr_matrix, known: np.ndarray) -> np.ndarray:
    """(n, 5) the items to which votes lead most strongly from both known ones together."""
    sums = sum(votes[each] for each in known.T).tocsr()
    out = np.full((len(known), GUESSES), -1, dtype=np.int64)
    for n, (start, stop) in enumerate(pairwise(sums.indptr)):
        items, values = sums.indices[start:stop], sums.data[start:stop]
        values = np.where(np.isin(items, known[n]), 0, values)
        best = np.lexsort((items, -values))[:GUESSES]
        best = best[values[best] > 0]
        out[n, : len(best)] = items[best]
    return out


def guesses_by_codes(
    vectors: np.ndarray, known: np.ndarray, votes: dict[str, csr_matrix], at_once: int = 256
) -> dict[tuple[str, str], np.ndarray]:
    """(n, 5) the items nearest to the known ones, by how cosines are joined and votes added.

    Args:
        vectors: (V, D) of length 1, as codes tell them.
        votes: by name, added to the cosines; `CODES` stands for none.
    """
    out = {(near, name): np.empty((len(known), GUESSES), np.int64)
           for near in NEAR for name in (CODES, *votes)}  # fmt: skip
    for start in range(0, len(known), at_once):
        some = known[start : start + at_once]
        cosines = [vectors[each] @ vectors.T for each in some.T]
        added = {name: np.asarray(sum(each[k].toarray() for k in some.T))
                 for name, each in votes.items()}  # fmt: skip
        for (near, name), guesses in out.items():
            scores = NEAR[near](*cosines)
            if name in added:
                scores += VOTE * added[name]
            np.put_along_axis(scores, some, -np.inf, axis=1)
            best = np.argpartition(-scores, GUESSES, axis=1)[:, :GUESSES]
            guesses[start : start + at_once] = best
    return out


def attacks(
    persons: Persons, codes: Codes, lists: dict[str, Neighbours], seen: Composition
) -> Iterator[tuple[str, str, Extra]]:
    """Method, most harmful reading and its result: by lists, by codes, and by both.

    Args:
        lists: by name.
        seen: what the attacker has of each item.
    """
    votes = {name: readings(each, seen.slots) for name, each in lists.items()}
    for what, each in votes.items():
        found = {name: persons.extra(guesses_by_lists(read, persons.known))
                 for name, read in each.items()}  # fmt: skip
        yield f"lists, {what}", *_worst(found)
    y = unit(codes.decode(slice(None), seen.columns).astype(np.float32))
    added = {f"both, {what}": each["all lists"] for what, each in votes.items()}
    guesses = guesses_by_codes(y, persons.known, added)
    for name in (CODES, *added):
        yield name, *_worst({near: persons.extra(guesses[near, name]) for near in NEAR})


def _worst(found: dict[str, Extra]) -> tuple[str, Extra]:
    """The reading that reveals most, and its result."""
    return max(found.items(), key=lambda each: each[1].extra)
