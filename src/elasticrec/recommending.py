"""Recommending on the server: the lists that a device would show, for many persons at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.model import FILES

if TYPE_CHECKING:
    from elasticrec.data.ids import Ids
    from elasticrec.model import Model
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
    ) -> list[Recommendation]:
        """The k best items for a user of the data, or for anyone who took some items.

        Items that the user took, in any part of the split, are not listed, nor are those of `items`
        and of `exclude`. Unknown items are skipped, and a warning is logged.

        Args:
            items: original ids, the oldest first.
            only: original ids to choose from; None for all.
        """
        check_list_length(k)
        if items is not None and user is None:
            history = self._history(items)
        elif user is not None and items is None:
            history = self._taken(self._users([user]))
        else:
            raise InputError("expected a user or a list of items, and not both")
        hidden = history.union(self._pairs(self._items(exclude, "excluded")))
        chosen = None if only is None else self._items(only, "allowed")
        return next(self._lists(history, hidden, k, chosen))

    def recommend_users(
        self, users: Iterable[Id] | None = None, *, k: int = 20
    ) -> Iterator[tuple[Id, list[Recommendation]]]:
        """Each user's id and her k best items, as `recommend` gives them; by default everyone's."""
        check_list_length(k)
        ids = self.split.user_ids
        numbers = np.arange(len(ids)) if users is None else self._users(users)
        for start in range(0, len(numbers), _USERS_AT_ONCE):
            some = numbers[start : start + _USERS_AT_ONCE]
            taken = self._taken(some)
            lists = self._lists(taken, taken, k, None)
            yield from zip(ids.take(some).values.tolist(), lists, strict=True)

    def _lists(
        self, histories: Pairs, hidden: Pairs, k: int, only: np.ndarray | None
    ) -> Iterator[list[Recommendation]]:
        """A list for each history."""
        from elasticrec.evaluation.measure import add_votes
        from elasticrec.evaluation.toplist import top_items

        order = histories.order
        ages = None if order is None else histories.rank(-order)
        scores = self.scorer.scores(self.scorer.persons(histories, ages))
        add_votes(scores, self.votes.of(histories))
        self.scorer.hide_unlisted(scores)
        if only is not None:
            outside = np.setdiff1d(np.arange(self.split.n_items), only)
            scores[:, outside] = -np.inf
        best = top_items(scores, k, hidden)
        for items, found in zip(best.items.numpy(), best.scores.numpy(), strict=True):
            yield self._named(items[items >= 0], found[items >= 0])

    def _named(self, numbers: np.ndarray, scores: np.ndarray) -> list[Recommendation]:
        ids, titles = self.split.item_ids.take(numbers).values.tolist(), self.split.titles
        named = [None] * len(numbers) if titles is None else titles[numbers].tolist()
        listed = zip(ids, scores.tolist(), named, strict=True)
        return [Recommendation(name, score, title or None) for name, score, title in listed]

    def _history(self, items: Iterable[Id]) -> Pairs:
        """One history of the items that are known; none at all is refused."""
        taken = self._items(items, "given")
        if not len(taken):
            example = ", ".join(map(str, self.split.item_ids.values[:3].tolist()))
            raise InputError(f"none of the items given is known; ids look like {example}")
        return self._pairs(taken)

    def _pairs(self, items: np.ndarray) -> Pairs:
        """Some items, the oldest first, as the history of one person."""
        last = len(items) - 1 - np.unique(items[::-1], return_index=True)[1]  # the newest mention
        kept = items[np.sort(last)]
        order = np.arange(len(kept), dtype=np.int32)
        V = self.split.n_items
        return Pairs.from_arrays(np.zeros_like(kept), kept, n_users=1, n_items=V, order=order)

    def _taken(self, users: np.ndarray) -> Pairs:
        """All that some users took, in any part of the split."""
        split = self.split
        parts = [part.rows(users) for part in (split.train, split.validation, split.test)]
        return parts[0].union(parts[1]).union(parts[2])

    def _items(self, ids: Iterable[Id], what: str) -> np.ndarray:
        """(n,) int32 numbers of the ids that are known, in their sequence."""
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InputError(f"items {what}: {ids!r}, expected a list of ids")
        given = list(ids)
        found = _numbers(self.split.item_ids, given)
        if (found < 0).any():
            log.warning(
                "%d of %d items %s are unknown, skipped", (found < 0).sum(), len(given), what
            )
        return found[found >= 0].astype(np.int32)

    def _users(self, ids: Iterable[Id]) -> np.ndarray:
        """(n,) numbers of users; an unknown one is refused."""
        given = list(ids)
        found = _numbers(self.split.user_ids, given)
        if (found < 0).any():
            unknown = given[int(np.argmax(found < 0))]
            example = ", ".join(map(str, self.split.user_ids.values[:3].tolist()))
            raise InputError(f"no user {unknown!r} in the data; ids look like {example}")
        return found


def recommend_from_stream(
    path: Path, items: Iterable[str], *, k: int = 20, exclude: Iterable[str] = ()
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
            found = stream.recommend(history, k=k, exclude=hidden)
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


def _numbers(known: Ids, ids: list[Id]) -> np.ndarray:
    return np.asarray(known.numbers(ids), dtype=np.int64) if ids else np.zeros(0, dtype=np.int64)
