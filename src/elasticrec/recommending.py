"""Recommending on the server: the lists that a device would show, for many persons at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.model import FILES, Model
from elasticrec.space import Budget

log = logging.getLogger(__name__)

Id = int | str
_USERS_AT_ONCE = 256


@dataclass(frozen=True)
class Recommendation:
    """One item of a list."""

    id: Id
    """The item's original id."""
    score: float
    """The number by which the list is sorted; comparable within one list only."""
    title: str | None = None
    """The item's title, where known."""


class Ranker:
    """A model's stream, or the prefix of a budget, that ranks for users and for histories."""

    def __init__(self, model: Model, budget: Budget | None = None) -> None:
        from elasticrec.evaluation.measure import Scorer, Votes
        from elasticrec.stream.curve import prefix_composition
        from elasticrec.stream.index import read_index

        self.model, self.split = model, model.split
        index = read_index(model.stream_path)
        n_bytes = index.ends[-1] if budget is None else index.longest_prefix(budget.n_bytes)
        composition = prefix_composition(index, n_bytes)
        self.scorer = Scorer(model.codes, composition, device="cpu")
        self.votes = Votes(model.neighbours, model.weights, composition, "history")

    def recommend(
        self,
        user: Id | None = None,
        *,
        items: Iterable[Id] | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
        only: Iterable[Id] | None = None,
        diversity: float = 0.0,
    ) -> list[Recommendation]:
        """The k best items for a user of the data, or for anyone who took some items.

        Items that the user took, in any part of the split, are not listed, nor are those of `items`
        and of `exclude`. Unknown items are skipped, and a warning is logged.

        Args:
            items: original ids, the oldest first.
            only: original ids to choose from; None for all.
            diversity: from 0 to 1: how much it counts that an item differs from those above it.
        """
        check_list_length(k)
        check_diversity(diversity)
        if items is not None and user is None:
            history = self._history(items)
        elif user is not None and items is None:
            history = self._taken(self._user(user))
        else:
            raise InputError("expected a user or a list of items, and not both")
        hidden = history.union(self._pairs([self._items(exclude, "excluded")]))
        chosen = None if only is None else self._items(only, "allowed")
        return next(self._lists(history, hidden, k, chosen, diversity))

    def recommend_many(
        self,
        users: Iterable[Id] | None = None,
        *,
        items: Iterable[Iterable[Id]] | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
        only: Iterable[Id] | None = None,
        diversity: float = 0.0,
    ) -> Iterator[tuple[Id, list[Recommendation]]]:
        """Each user's id and her k best items, as `recommend` gives them; by default everyone's.

        Unknown users are skipped, and so are persons without a known item; a warning is logged.

        Args:
            items: histories instead of users, each as in `recommend`; a place in their sequence,
                from 0, then stands for an id.
        """
        check_list_length(k)
        check_diversity(diversity)
        if users is not None and items is not None:
            raise InputError("expected users or items, and not both")
        if items is not None:
            names, histories = self._histories(items)
        else:
            ids = self.split.user_ids
            numbers = np.arange(len(ids)) if users is None else self._users(users)
            names, histories = ids.take(numbers).values.tolist(), self._taken(numbers)
        barred = self._items(exclude, "excluded")
        chosen = None if only is None else self._items(only, "allowed")

        def lists(some: Pairs) -> Iterator[list[Recommendation]]:
            hidden = some.union(self._pairs([barred] * some.n_users))
            return self._lists(some, hidden, k, chosen, diversity)

        return self._in_batches(names, histories, lists)

    def _in_batches(
        self,
        names: list[Id],
        histories: Pairs,
        lists: Callable[[Pairs], Iterator[list[Recommendation]]],
    ) -> Iterator[tuple[Id, list[Recommendation]]]:
        """Each person's name and list."""
        for start in range(0, len(names), _USERS_AT_ONCE):
            stop = min(start + _USERS_AT_ONCE, len(names))
            some = histories.rows(np.arange(start, stop))
            yield from zip(names[start:stop], lists(some), strict=True)

    def _lists(
        self, histories: Pairs, hidden: Pairs, k: int, only: np.ndarray | None, diversity: float
    ) -> Iterator[list[Recommendation]]:
        """A list for each history."""
        from elasticrec.evaluation.measure import add_votes
        from elasticrec.evaluation.toplist import VARIED_AMONG, top_items, varied

        order = histories.order
        ages = None if order is None else histories.rank(-order)
        scores = self.scorer.scores(self.scorer.persons(histories, ages))
        add_votes(scores, self.votes.of(histories))
        self.scorer.hide_unlisted(scores)
        if only is not None:
            outside = np.setdiff1d(np.arange(self.split.n_items), only)
            scores[:, outside] = -np.inf
        best = top_items(scores, VARIED_AMONG * k if diversity else k, hidden)
        for items, found in zip(best.items.numpy(), best.scores.numpy(), strict=True):
            listed = np.flatnonzero(items >= 0)
            if diversity:
                listed = varied(
                    found[listed].astype(np.float64), self.scorer.y[items[listed]], k, diversity
                )
            yield self._named(items[listed], found[listed])

    def _named(self, numbers: np.ndarray, scores: np.ndarray) -> list[Recommendation]:
        ids, titles = self.split.item_ids.take(numbers).values.tolist(), self.split.titles
        named = [None] * len(numbers) if titles is None else titles[numbers].tolist()
        listed = zip(ids, scores.tolist(), named, strict=True)
        return [Recommendation(name, score, title or None) for name, score, title in listed]

    def _history(self, items: Iterable[Id]) -> Pairs:
        """One history of the items that are known; none at all is refused."""
        taken = self._items(items, "given")
        if not len(taken):
            raise InputError(
                f"none of the items given is known; ids look like {_example(self.split.item_ids)}"
            )
        return self._pairs([taken])

    def _histories(self, persons: Iterable[Iterable[Id]]) -> tuple[list[Id], Pairs]:
        """Places and histories of the persons of whom some item is known."""
        given = [check_ids(items, "given") for items in _listed(persons, "given")]
        found = self.split.item_ids.numbers([each for items in given for each in items])
        ends = np.cumsum([len(items) for items in given])
        known = [each[each >= 0].astype(np.int32) for each in np.split(found, ends[:-1])]
        known = known[: len(given)]  # splitting nothing gives one part
        places: list[Id] = [place for place, each in enumerate(known) if len(each)]
        if (found < 0).any():
            log.warning("%d of %d items given are unknown, skipped", (found < 0).sum(), len(found))
        if len(places) < len(known):
            log.warning(
                "%d of %d persons have no known item, skipped", len(known) - len(places), len(known)
            )
        return places, self._pairs([each for each in known if len(each)])

    def _pairs(self, histories: list[np.ndarray]) -> Pairs:
        """Items of persons, the oldest first; of an item that is there twice the newest counts."""
        newest = [
            items[np.sort(len(items) - 1 - np.unique(items[::-1], return_index=True)[1])]
            for items in histories
        ]
        counts = [len(items) for items in newest]
        return Pairs.from_arrays(
            np.repeat(np.arange(len(newest), dtype=np.int32), counts),
            np.concatenate([*newest, np.zeros(0, np.int32)]),
            n_users=len(newest),
            n_items=self.split.n_items,
            order=np.concatenate([*map(np.arange, counts), np.zeros(0, np.int32)]).astype(np.int32),
        )

    def _taken(self, users: np.ndarray) -> Pairs:
        """All that some users took, in any part of the split."""
        split = self.split
        parts = [part.rows(users) for part in (split.train, split.validation, split.test)]
        return parts[0].union(parts[1]).union(parts[2])

    def _items(self, ids: Iterable[Id], what: str) -> np.ndarray:
        """(n,) int32 numbers of the ids that are known, in their sequence."""
        given = check_ids(ids, what)
        found = self.split.item_ids.numbers(given)
        if (found < 0).any():
            log.warning(
                "%d of %d items %s are unknown, skipped", (found < 0).sum(), len(given), what
            )
        return found[found >= 0].astype(np.int32)

    def _user(self, user: Id) -> np.ndarray:
        """(1,) number of one user; an unknown one is refused."""
        found = self.split.user_ids.numbers([user])
        if found[0] < 0:
            example = _example(self.split.user_ids)
            raise InputError(f"no user {user!r} in the data; ids look like {example}")
        return found

    def _users(self, ids: Iterable[Id]) -> np.ndarray:
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


def recommend_from_stream(
    path: Path,
    items: Iterable[str],
    *,
    k: int = 20,
    exclude: Iterable[str] = (),
    diversity: float = 0.0,
) -> list[Recommendation]:
    """The list of the device runtime, with titles where the file's `catalogue.json` lies beside it.

    Args:
        items: ids of the stream as text, the oldest first; unknown ones are skipped with a warning.
    """
    import elasticrec_device

    check_list_length(k)
    try:
        with elasticrec_device.open(path) as stream:
            catalogue = path.with_name(FILES["catalogue"])
            if catalogue.exists():
                stream.catalogue(catalogue)
            is_text = stream.info()["ids"] == "text"
            history, hidden = (_stream_ids(ids, is_text) for ids in (items, exclude))
            found = stream.recommend(history, k=k, exclude=hidden, diversity=diversity)
            if found.unknown:
                log.warning("%d of %d items given are unknown", found.unknown, len(history))
            return [Recommendation(each.id, each.score, each.title) for each in found]
    except elasticrec_device.StreamError as error:
        raise InputError(f"{path}: {error}") from None


def _stream_ids(ids: Iterable[str], is_text: bool) -> list[Id]:
    """Ids of the kind that a stream has."""
    try:
        return [each if is_text else int(each) for each in ids]
    except ValueError:
        given = ", ".join(ids)
        raise InputError(f"ids {given}: expected whole numbers, as the stream has") from None


def check_list_length(k: int) -> None:
    """Refuse a length that is no whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}, expected a whole number of at least 1")


def check_diversity(diversity: float) -> None:
    """Refuse a diversity that is no number from 0 to 1."""
    if not isinstance(diversity, int | float) or not 0 <= diversity <= 1:
        raise InputError(f"diversity is {diversity!r}, expected a number from 0 to 1")


def check_ids(ids: Iterable[Id], what: str) -> list[Id]:
    """The ids of items as a list; whatever is no list of ids is refused."""
    return _listed(ids, f"items {what}")


def _listed(given: Any, what: str) -> list[Any]:
    """The members of a list; a text is none."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{what}: {given!r}, expected a list of ids")
    return list(given)


def _example(ids: Ids) -> str:
    """Some ids, for an error."""
    return ", ".join(map(str, ids.values[:3].tolist()))
