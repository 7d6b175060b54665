"""Recommending on the server: the lists that a device would show, for many persons at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.data.histories import Histories, Id
from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import users_at_once
from elasticrec.model import FILES, Model
from elasticrec.space import Budget

log = logging.getLogger(__name__)

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
        from elasticrec.stream.chunk import read_index
        from elasticrec.stream.curve import prefix_composition

        self.model, self.split = model, model.split
        self.histories = Histories(self.split)
        index = read_index(model.stream_path)
        whole = index.ends[-1]
        self.n_bytes = whole if budget is None else index.longest_prefix(budget.n_bytes)
        composition = prefix_composition(index, self.n_bytes)
        self.scorer = Scorer(model.codes, composition, device="cpu")
        self.votes = Votes(model.neighbours, model.weights, composition, "history")

    def recommend(
        self, user: Id | None = None, *, items: Iterable[Id] | None = None, k: int = 20,
        exclude: Iterable[Id] = (), only: Iterable[Id] | None = None, diversity: float = 0.0,
    ) -> list[Recommendation]:  # fmt: skip
        """The k best items for a user of the data, or for anyone who took some items.

        Items that the user took, in any part of the split, are not listed, nor are those of `items`
        and of `exclude`. Unknown items are skipped, and a warning is logged.

        Args:
            items: original ids, the oldest first.
            only: original ids to choose from; None for all.
            diversity: from 0 to 1: how much it counts that an item differs from those above it.
        """
        _check(k, diversity)
        if items is not None and user is None:
            history = self.histories.of_items(items)
        elif user is not None and items is None:
            history = self.histories.of_users(self.histories.user(user))
        else:
            raise InputError("expected a user or a list of items, and not both")
        hidden = history.union(self.histories.pairs([self.histories.items(exclude, "excluded")]))
        chosen = None if only is None else self.histories.items(only, "allowed")
        return next(self._lists(history, hidden, k, chosen, diversity))

    def recommend_many(
        self, users: Iterable[Id] | None = None, *, items: Iterable[Iterable[Id]] | None = None,
        k: int = 20, exclude: Iterable[Id] = (), only: Iterable[Id] | None = None,
        diversity: float = 0.0,
    ) -> Iterator[tuple[Id, list[Recommendation]]]:  # fmt: skip
        """Each user's id and her k best items, as `recommend` gives them; by default everyone's.

        Unknown users are skipped, and so are persons without a known item; a warning is logged.

        Args:
            items: histories instead of users, each as in `recommend`; a place in their sequence,
                from 0, then stands for an id.
        """
        _check(k, diversity)
        if users is not None and items is not None:
            raise InputError("expected users or items, and not both")
        if items is not None:
            names, histories = self.histories.of_many(items)
        else:
            ids = self.split.user_ids
            numbers = np.arange(len(ids)) if users is None else self.histories.users(users)
            names, histories = ids.take(numbers).values.tolist(), self.histories.of_users(numbers)
        barred = self.histories.items(exclude, "excluded")
        chosen = None if only is None else self.histories.items(only, "allowed")
        size = min(_USERS_AT_ONCE, users_at_once(self.split.n_items, "cpu"))

        def found() -> Iterator[tuple[Id, list[Recommendation]]]:
            for start in range(0, len(names), size):
                some = histories.rows(np.arange(start, min(start + size, len(names))))
                hidden = some.union(self.histories.pairs([barred] * some.n_users))
                lists = self._lists(some, hidden, k, chosen, diversity)
                yield from zip(names[start : start + some.n_users], lists, strict=True)

        return found()  # bad arguments are refused before the first list is asked for

    def _lists(
        self, histories: Pairs, hidden: Pairs, k: int, only: np.ndarray | None, diversity: float
    ) -> Iterator[list[Recommendation]]:
        """A list for each history."""
        from elasticrec.evaluation.toplist import VARIED_AMONG, top_items, varied

        scores = self.scorer.listed(self.scorer.persons(histories), histories, self.votes)
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


def rows_of(
    lists: Iterable[tuple[Id, list[Recommendation]]],
) -> list[tuple[Id, int, Id, float, str | None]]:
    """A row per listed item: user, place from 1, item, score, title."""
    return [
        (user, place, each.id, each.score, each.title)
        for user, listed in lists
        for place, each in enumerate(listed, start=1)
    ]


def recommend_from_stream(
    path: Path, items: Iterable[str], *, k: int = 20, exclude: Iterable[str] = (),
    diversity: float = 0.0,
) -> list[Recommendation]:  # fmt: skip
    """The list of the device runtime, with titles where the file's `catalogue.json` lies beside it.

    Args:
        items: ids of the stream as text, the oldest first; unknown ones are skipped with a warning.
    """
    import elasticrec_device

    _check(k, diversity)
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


def _check(k: int, diversity: float) -> None:
    """Refuse a length that is no whole number from 1, and a diversity that is not from 0 to 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}, expected a whole number of at least 1")
    if not isinstance(diversity, int | float) or not 0 <= diversity <= 1:
        raise InputError(f"diversity is {diversity!r}, expected a number from 0 to 1")
