"""Recommending on the server: the lists that a device would show, for millions of persons too."""

from __future__ import annotations

import hashlib
import io
import logging
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.data.histories import Histories, Id
from elasticrec.data.interactions import Pairs
from elasticrec.engine import map_shards
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import users_at_once
from elasticrec.files import save_bytes, writing, written_whole
from elasticrec.model import FILES, Model
from elasticrec.space import Budget

log = logging.getLogger(__name__)

_USERS_AT_ONCE = 256
KINDS = (".csv", ".jsonl", ".parquet")
"""Ends of names, which say what is written."""
CHUNK = 4096
"""Users of a chunk of a file."""


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
        """The k best items for a user, or for anyone, as `ElasticRecommender.recommend` lists them.

        Args:
            items: original ids, the oldest first.
            only: original ids to choose from; None for all.
            diversity: from 0 to 1: how much it counts that an item differs from those above it.
        """
        if items is not None and user is None:
            history = self.histories.of_items(items)
        elif user is not None and items is None:
            history = self.histories.of_users(self.histories.user(user))
        else:
            raise InputError("expected a user or a list of items, and not both")
        return next(self._lists(history, k, exclude, only, diversity))

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
        if users is not None and items is not None:
            raise InputError("expected users or items, and not both")
        if items is not None:
            names, histories = self.histories.of_many(items)
        else:
            ids = self.split.user_ids
            numbers = np.arange(len(ids)) if users is None else self.histories.users(users)
            names, histories = ids.take(numbers).values.tolist(), self.histories.of_users(numbers)
        return zip(names, self._lists(histories, k, exclude, only, diversity), strict=True)

    def _lists(
        self, histories: Pairs, k: int, exclude: Iterable[Id], only: Iterable[Id] | None,
        diversity: float,
    ) -> Iterator[list[Recommendation]]:  # fmt: skip
        """A list for each history; bad arguments are refused before the first is asked for."""
        from elasticrec.evaluation.toplist import VARIED_AMONG, top_items, varied

        _check(k, diversity)
        barred = self.histories.items(exclude, "excluded")
        outside = np.zeros(0, dtype=np.int64)
        if only is not None:
            allowed = self.histories.items(only, "allowed")
            outside = np.setdiff1d(np.arange(self.split.n_items), allowed)
        size = min(_USERS_AT_ONCE, users_at_once(self.split.n_items, "cpu"))

        def found() -> Iterator[list[Recommendation]]:
            for start in range(0, histories.n_users, size):
                some = histories.rows(np.arange(start, min(start + size, histories.n_users)))
                hidden = some.union(self.histories.pairs([barred] * some.n_users))
                scores = self.scorer.listed(self.scorer.persons(some), some, self.votes)
                scores[:, outside] = -np.inf
                best = top_items(scores, VARIED_AMONG * k if diversity else k, hidden)
                for items, worth in zip(best.items.numpy(), best.scores.numpy(), strict=True):
                    listed = np.flatnonzero(items >= 0)
                    if diversity:
                        vectors = self.scorer.y[items[listed]]
                        listed = varied(worth[listed].astype(np.float64), vectors, k, diversity)
                    yield self._named(items[listed], worth[listed])

        return found()

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


def write_lists(
    ranker: Ranker, users: Iterable[Id], out: Path, *, k: int = 20, exclude: Iterable[Id] = (),
    diversity: float = 0.0,
) -> int:  # fmt: skip
    """Write a row for each of the k best items of every user; the number of users.

    Chunks go by the engine in use, and wait beside the file until all are there.
    """
    if out.suffix not in KINDS:
        raise InputError(f"{out}: expected a name that ends in {', '.join(KINDS)}")
    users_known, items_known = ranker.split.user_ids, ranker.split.item_ids
    names = users_known.take(ranker.histories.users(users)).values.tolist()
    barred = items_known.take(ranker.histories.items(exclude, "excluded")).values.tolist()
    asked = {"k": k, "exclude": barred, "diversity": diversity}
    place = out.with_name(f"{out.name}.parts")
    starts = range(0, len(names), CHUNK)
    parts = {start: place / f"{start:012}{out.suffix}" for start in starts}
    what = [ranker.model.hash_of("stream"), ranker.n_bytes, asked, CHUNK, names]
    digest = hashlib.sha256(repr(what).encode()).hexdigest()
    with writing(place):
        if not (place / digest).exists():  # new, or of another run
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            (place / digest).touch()
        missing = [start for start in starts if not parts[start].exists()]
        chunks = map_shards(_chunk, missing, (ranker, names, asked, out.suffix))
        for start, content in zip(missing, chunks, strict=True):
            save_bytes(parts[start], content)
    with written_whole(out) as file:
        if out.suffix == ".parquet":
            import polars as pl

            pl.scan_parquet([*parts.values()]).sink_parquet(file)
        else:
            file.writelines(part.read_bytes() for part in parts.values())
    shutil.rmtree(place)
    return len(names)


def _chunk(shared: tuple[Ranker, list[Id], dict[str, Any], str], start: int) -> bytes:
    """The rows of some users, as they stand in the file."""
    import polars as pl

    ranker, names, asked, kind = shared
    lists = ranker.recommend_many(names[start : start + CHUNK], **asked)
    rows = [(*row, float(f"{score:.6g}"), title or "") for *row, score, title in rows_of(lists)]
    ids = ranker.split.user_ids, ranker.split.item_ids
    user, item = (int if each.values.dtype.kind in "iu" else str for each in ids)
    schema = {"user": user, "place": int, "item": item, "score": float, "title": str}
    frame, file = pl.DataFrame(rows, schema=schema, orient="row"), io.BytesIO()
    if kind == ".csv":
        frame.write_csv(file, include_header=not start)
    elif kind == ".jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_parquet(file)
    return file.getvalue()


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
            kind: Any = str if stream.info()["ids"] == "text" else int
            history, hidden = ([*map(kind, ids)] for ids in (items, exclude))
            found = stream.recommend(history, k=k, exclude=hidden, diversity=diversity)
            if found.unknown:
                log.warning("%d of %d items given are unknown", found.unknown, len(history))
            return [Recommendation(each.id, each.score, each.title) for each in found]
    except elasticrec_device.StreamError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path}: its ids are whole numbers: {error}") from None


def _check(k: int, diversity: float) -> None:
    """Refuse a length that is no whole number from 1, and a diversity that is not from 0 to 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}, expected a whole number of at least 1")
    if not isinstance(diversity, int | float) or not 0 <= diversity <= 1:
        raise InputError(f"diversity is {diversity!r}, expected a number from 0 to 1")
