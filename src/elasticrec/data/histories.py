"""Histories of persons whom callers name: by a user's id, or by the ids of some items."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError

log = logging.getLogger(__name__)

Id = int | str


class Histories:
    """Histories of a split's users, and of anyone who took some of its items."""

    def __init__(self, split: Split) -> None:
        self.split = split

    def of_items(self, items: Iterable[Id]) -> Pairs:
        """One history of the items that are known; none at all is refused."""
        taken = self.items(items, "given")
        if not len(taken):
            raise InputError(
                f"none of the items given is known; ids look like {_example(self.split.item_ids)}"
            )
        return self.pairs([taken])

    def of_many(self, persons: Iterable[Iterable[Id]]) -> tuple[list[Id], Pairs]:
        """Places and histories of the persons of whom some item is known."""
        given = [check_ids(items, "given") for items in _listed(persons, "given")]
        found = self.split.item_ids.numbers([each for items in given for each in items])
        parts = np.split(found, np.cumsum([len(items) for items in given]))[:-1]
        known = [each[each >= 0].astype(np.int32) for each in parts]
        places: list[Id] = [place for place, each in enumerate(known) if len(each)]
        _warn_of_unknown(found, "given")
        if len(places) < len(known):
            log.warning(
                "%d of %d persons have no known item, skipped", len(known) - len(places), len(known)
            )
        return places, self.pairs([each for each in known if len(each)])

    def of_users(self, users: np.ndarray) -> Pairs:
        """All that some users took, in any part of the split."""
        split = self.split
        train, *others = (part.rows(users) for part in (split.train, split.validation, split.test))
        return train.union(others[0]).union(others[1])

    def user(self, user: Id) -> np.ndarray:
        """(1,) number of one user; an unknown one is refused."""
        found = self.split.user_ids.numbers([user])
        if found[0] < 0:
            example = _example(self.split.user_ids)
            raise InputError(f"no user {user!r} in the data; ids look like {example}")
        return found

    def users(self, ids: Iterable[Id]) -> np.ndarray:
        """(n,) numbers of users; unknown ones are reported and skipped."""
        given = _listed(ids, "users")
        found = self.split.user_ids.numbers(given)
        unknown = np.flatnonzero(found < 0)
        if given and len(unknown) == len(given):
            example = _example(self.split.user_ids)
            raise InputError(f"none of {len(given)} users is known; ids look like {example}")
        if len(unknown):
            log.warning(
                "%d of %d users are unknown, skipped, the first is %r; ids look like %s",
                len(unknown), len(given), given[unknown[0]], _example(self.split.user_ids),
            )  # fmt: skip
        return found[found >= 0]

    def items(self, ids: Iterable[Id], what: str) -> np.ndarray:
        """(n,) int32 numbers of the ids that are known, in their sequence."""
        found = self.split.item_ids.numbers(check_ids(ids, what))
        _warn_of_unknown(found, what)
        return found[found >= 0].astype(np.int32)

    def pairs(self, histories: list[np.ndarray]) -> Pairs:
        """Items of persons, the oldest first; of an item that is there twice the newest counts."""
        counts = [len(items) for items in histories]
        users = np.repeat(np.arange(len(histories), dtype=np.int32), counts)
        newest = Pairs.from_arrays(
            *(users, np.concatenate([*histories, np.zeros(0, np.int32)])),
            n_users=len(histories), n_items=self.split.n_items, order=-np.arange(sum(counts)),
        )  # fmt: skip
        return replace(newest, order=newest.ages())


def _warn_of_unknown(found: np.ndarray, what: str) -> None:
    """Say how many of some items have no number."""
    if n := np.count_nonzero(found < 0):
        log.warning("%d of %d items %s are unknown, skipped", n, len(found), what)


def check_ids(ids: Iterable[Id], what: str) -> list[Id]:
    """The ids of items as a list; whatever is no list of ids is refused."""
    return _listed(ids, f"items {what}")


def _listed(given: Any, what: str) -> list[Any]:
    """The members of a list; a text is none, nor is a dict."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{what}: {given!r}, expected a list of ids")
    return list(given)


def _example(ids: Ids) -> str:
    """Some ids, for an error."""
    return ", ".join(map(str, ids.values[:3].tolist()))
