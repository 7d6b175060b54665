"""Readers: from files, matrices and frames to Interactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from elasticrec.data.readers.embedded import read_goodbooks
from elasticrec.errors import InputError
from elasticrec.files import check_readable
from elasticrec.data.readers.frames import from_frame
from elasticrec.data.ids import Ids, as_objects
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.readers.lists import read_lists, read_published
from elasticrec.data.readers.reviews import read_yelp_reviews
from elasticrec.data.readers.tables import read_table

__all__ = [
    "FORMATS",
    "format_of",
    "from_csr",
    "from_frame",
    "over_same_ids",
    "read",
    "read_goodbooks",
    "read_lists",
    "read_published",
    "read_table",
    "read_yelp_reviews",
]

SUFFIXES = {
    **{"csv": "csv", "tsv": "tsv", "tab": "tsv", "parquet": "parquet", "pq": "parquet"},
    **{"txt": "lists", "json": "yelp", "jsonl": "yelp", "ndjson": "yelp"},
}
"""The format that the end of a file's name means."""
TABLES = ("csv", "tsv", "parquet")
"""Formats with columns to name."""
FORMATS = (*TABLES, "lists", "yelp", "goodbooks")
"""What can be read."""


def format_of(path: Path | str) -> str:
    """The format of a source by its name; `goodbooks` is the embedded sample."""
    if str(path) == "goodbooks":
        return "goodbooks"
    suffix = Path(path).name.removesuffix(".gz").rpartition(".")[2].lower()
    if suffix not in SUFFIXES:
        check_readable(path)
        endings = ", ".join("." + known for known in SUFFIXES)
        raise InputError(
            f"{path}: format unknown by its name, expected {endings} or a named format"
        )
    return SUFFIXES[suffix]


def read(
    path: Path | str,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    min_rating: float | None = None,
    format: str | None = None,  # noqa: A002
    need_time: bool = False,
    id_lists: bool = False,
    name: str | None = None,
) -> Interactions:
    """The interactions of one file in any of the known formats, plain or `.gz`.

    Args:
        user: column of the users; found by its usual names where not given. So is `item`.
        rating: column of the ratings, read where `min_rating` is given.
        time: column of the times, read where given.
        min_rating: leave out rows with a smaller rating.
        format: one of `FORMATS`; by the end of the name where not given.
        need_time: look for a time column by its usual names where `time` is not given.
        id_lists: for lists: original ids from `user_list.txt` and `item_list.txt` beside the file.
        name: of the data set; from the file's name where not given.
    """
    kind = format or format_of(path)
    columns = {"user": user, "item": item, "rating": rating, "time": time}
    _check_options(path, kind, columns, min_rating=min_rating, id_lists=id_lists)
    if kind in TABLES:
        parquet = kind == "parquet"
        return read_table(
            path, **columns, min_rating=min_rating, need_time=need_time, parquet=parquet, name=name
        )
    if kind == "yelp":
        return read_yelp_reviews(path, min_rating=min_rating, name=name)
    if kind == "goodbooks":
        return replace(read_goodbooks(), name=name or "goodbooks")
    return read_lists(path, id_lists=id_lists, name=name)


def _check_options(
    path: Path | str,
    kind: str,
    columns: dict[str, str | None],
    *,
    min_rating: float | None,
    id_lists: bool,
) -> None:
    """Nothing, or an error about an option that means nothing for this format."""
    if kind not in FORMATS:
        raise InputError(f"format {kind!r} is unknown, expected one of {', '.join(FORMATS)}")
    if id_lists and kind != "lists":
        raise InputError(f"{path}: {kind} has no id lists beside it, expected lists for that")
    named = [meaning for meaning, column in columns.items() if column is not None]
    if named and kind not in TABLES:
        column = columns[named[0]]
        raise InputError(f"{path}: {kind} has no columns, expected no {named[0]} ({column!r})")
    if min_rating is not None and kind not in (*TABLES, "yelp"):
        raise InputError(f"{path}: {kind} has no ratings, expected no smallest one ({min_rating})")


def from_csr(
    matrix: Any,
    *,
    user_ids: Iterable[Any] | None = None,
    item_ids: Iterable[Any] | None = None,
    min_rating: float | None = None,
    titles: Iterable[str] | None = None,
    name: str = "data",
) -> Interactions:
    """The interactions at the non-zero places of a scipy sparse (users, items) matrix.

    Args:
        user_ids: one per row, row numbers where not given; `item_ids` one per column.
        min_rating: leave out values below it.
    """
    if not hasattr(matrix, "tocoo"):
        kind = type(matrix).__name__
        raise InputError(f"{name}: is of type {kind}, expected a scipy sparse matrix")
    cells = matrix.tocoo()
    n_users, n_items = cells.shape
    kept = cells.data != 0
    if min_rating is not None:
        kept &= cells.data >= min_rating
    users = Ids.dense(n_users) if user_ids is None else Ids.of(user_ids)
    items = Ids.dense(n_items) if item_ids is None else Ids.of(item_ids)
    for ids, n, axis in ((users, n_users, "rows"), (items, n_items, "columns")):
        if len(ids) != n or len(set(ids.values.tolist())) != n:
            raise InputError(f"{name}: {len(ids)} ids for {n} {axis}, expected one different each")
    named = None if titles is None else as_objects(list(titles))
    if named is not None and len(named) != n_items:
        raise InputError(f"{name}: {len(named)} titles for {n_items} columns, expected one each")
    pairs = Pairs.from_arrays(cells.row[kept], cells.col[kept], n_users=n_users, n_items=n_items)
    return Interactions(pairs, users, items, titles=named, name=name)


def over_same_ids(train: Interactions, test: Interactions) -> tuple[Interactions, Interactions]:
    """Both renumbered to the union of their users and of their items, in ascending order."""
    user_ids = _union(train.user_ids, test.user_ids)
    item_ids = _union(train.item_ids, test.item_ids)
    renumbered = []
    for part in (train, test):
        users = user_ids.numbers(part.user_ids.values)[part.pairs.users]
        items = item_ids.numbers(part.item_ids.values)[part.pairs.items]
        renumbered.append(
            Interactions.of_columns(
                users, items, user_ids, item_ids, times=part.times, name=train.name
            )
        )
    return renumbered[0], renumbered[1]


def _union(a: Ids, b: Ids) -> Ids:
    """All ids of both, ascending; text where either is text."""
    listed = [*a.values.tolist(), *b.values.tolist()]
    if a.are_text != b.are_text:
        listed = [str(value) for value in listed]
    return Ids.of(sorted(set(listed)))
