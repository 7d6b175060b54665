"""Sources: files in any format as Interactions, and files with titles of items."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from elasticrec.addresses import fetched, files_at, is_address
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns, position
from elasticrec.data.readers.lists import read_goodbooks, read_lists
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.files import check_readable, only_member, plain_name, read_bytes

if TYPE_CHECKING:
    import polars as pl

    from elasticrec.data.readers.gathering import Batch
    from elasticrec.data.readers.values import Where

log = logging.getLogger(__name__)

Titled = TypeVar("Titled", Interactions, Split)

SUFFIXES = {
    **{"csv": "csv", "dat": "csv", "data": "csv", "inter": "csv", "tsv": "tsv", "tab": "tsv"},
    **{"parquet": "parquet", "pq": "parquet", "txt": "lists"},
    **{"json": "json", "jsonl": "json", "ndjson": "json"},
}
"""The format that the end of a file's name means."""
TEXT_TABLES = ("csv", "tsv", "movielens")
"""Formats of text tables; the separator follows from the first line, not from the format."""
TABLES = (*TEXT_TABLES, "parquet", "json")
"""Formats with columns to name."""
FORMATS = (*TABLES, "lists", "goodbooks")
"""Known formats."""


def format_of(path: Path | str) -> str:
    """The format of a source by its name; `goodbooks` is the embedded sample."""
    if str(path) == "goodbooks":
        return "goodbooks"
    found = _by_suffix(path)
    if found is None:
        if not is_address(path):
            check_readable(path)
        endings = ", ".join("." + known for known in SUFFIXES)
        raise InputError(
            f"{path}: format unknown by its name, expected {endings} or a named format"
        )
    return found


def _by_suffix(path: Path | str) -> str | None:
    """The format that the end of a file's name means, if any."""
    return SUFFIXES.get(only_member(path).name.removesuffix(".gz").rpartition(".")[2].lower())


def read(
    source: Path | str,
    columns: Columns | None = None,
    *,
    format: str | None = None,  # noqa: A002
    name: str | None = None,
) -> Interactions:
    """The interactions of a file, plain, `.gz` or in a `.zip`; or of a folder or pattern of tables.

    Any of them may be an address. Without one of `FORMATS` the end of the name says which it is.
    """
    files = files_at(source)
    columns, kind = columns or Columns(), format or format_of(files[0])
    for file in files:
        if format is None and format_of(file) != kind:
            raise InputError(f"{file}: is {format_of(file)}, expected {kind} as {files[0]}")
    _check_options(source, kind, columns)
    if kind not in TABLES:
        if kind == "goodbooks":
            return replace(read_goodbooks(), name=name or "goodbooks")
        if len(files) > 1:
            raise InputError(f"{source}: holds {len(files)} files, expected one of lists")
        with fetched(files[0]) as path:
            return read_lists([only_member(path)], name=name)[0]

    from elasticrec.data.readers.gathering import gathered
    from elasticrec.data.readers.tables import table_batches

    def batches() -> Generator[Batch, None, None]:
        for file in files:
            with fetched(file) as copy:
                choice = partial(columns.choose, where=str(file), quiet=file != files[0])
                for frame, place in table_batches(only_member(copy), kind, choice, columns):
                    yield frame, partial(_original, place, str(copy), str(file))

    if name is None:
        named = Path(files[0]).parent if has_magic(str(source)) else Path(source)
        name = plain_name(files[0] if files == [source] else named)
    with closing(batches()) as found:  # or copies would stay for as long as an error does
        return gathered(found, columns, name=name, source=str(source))


def _original(place: Where, copy: str, file: str, row: int) -> str:
    """The place of a row, in the file that a copy was made of."""
    return place(row).replace(copy, file)


def _check_options(path: Path | str, kind: str, columns: Columns) -> None:
    """Raise an error over an option that means nothing for this format."""
    if kind not in FORMATS:
        raise InputError(f"format {kind!r} is unknown, expected one of {', '.join(FORMATS)}")
    refused = {"names", "separator"} if kind not in TEXT_TABLES else set()
    if kind not in TABLES:
        refused |= {"user", "item", "rating", "time", "min_rating", "where", "weight"}
    for option in sorted(refused):
        if (given := getattr(columns, option)) is not None:
            hint = "; --format csv reads it as a table" if kind == "lists" else ""
            raise InputError(
                f"{path}: {option} {given!r} means nothing for the format {kind}{hint}"
            )


def over_same_ids(train: Interactions, test: Interactions) -> tuple[Interactions, Interactions]:
    """Both renumbered to the union of their users and of their items, in ascending order."""
    user_ids = _union(train.user_ids, test.user_ids)
    item_ids = _union(train.item_ids, test.item_ids)
    renumbered = []
    for part in (train, test):
        users = user_ids.numbers(part.user_ids.values)[part.pairs.users]
        items = item_ids.numbers(part.item_ids.values)[part.pairs.items]
        whole = Interactions.of_columns(
            *(users, items, user_ids, item_ids), weights=part.pairs.weights, name=train.name,
            times=part.pairs.order if part.times is None else part.times,
        )  # fmt: skip
        renumbered.append(whole if part.times is not None else replace(whole, times=None))
    return renumbered[0], renumbered[1]


def _union(a: Ids, b: Ids) -> Ids:
    """All ids of both, ascending; text where either is text."""
    listed = [*a.values.tolist(), *b.values.tolist()]
    if a.are_text != b.are_text:
        listed = [str(value) for value in listed]
    return Ids.of(sorted(set(listed)))


def with_titles(named: Titled, source: Any, *, title: str | None = None) -> Titled:
    """The same data, with titles of items from a file or a frame; "" where it has none.

    The file is a text table, a Parquet table, JSON lines, or one JSON object by item id, whose
    values are texts or lists of attributes. A table whose first field is a number has no header:
    its first two columns are item and title.
    """
    import polars as pl

    name = str(source) if isinstance(source, str | Path) else "titles"
    frame = _titles_of(source, name, title, named.item_ids)
    numbers = named.item_ids.numbers(frame["item"].cast(pl.String).str.strip_chars())
    known = numbers >= 0
    if not known.any():
        example = named.item_ids.of_number(0)
        raise InputError(
            f"{name}: has a title for none of the items, expected ids like {example!r}"
        )
    titles = np.full(len(named.item_ids), "", dtype=object)
    texts = frame["title"].cast(pl.String).fill_null("").to_list()
    titles[numbers[known]] = np.array(texts, dtype=object)[known]
    missing = int((titles == "").sum())
    if missing:
        log.info("%s: has no title for %s of %s items", name, f"{missing:,}", f"{len(titles):,}")
    return replace(named, titles=titles)


def _titles_of(source: Any, name: str, title: str | None, known: Ids) -> pl.DataFrame:
    """Ids and titles, as the columns `item` and `title`."""
    import polars as pl

    from elasticrec.data.readers.frames import columns_of
    from elasticrec.data.readers.tables import table_batches

    def choice(found: list[str]) -> dict[str, int]:
        ids = "id" if "id" in found else None
        return {
            "item": position("item", ids, found, name),
            "title": position("title", title, found, name),
        }

    if not isinstance(source, str | Path):
        return columns_of(source, choice, name)
    path, kind = check_readable(only_member(source)), _by_suffix(source) or "csv"
    by_id = _by_id(path, known) if kind == "json" else None
    if by_id is not None:
        return by_id
    batches = table_batches(path, kind, choice, Columns(), titles=True)
    return pl.concat(frame for frame, _ in batches)


def _by_id(path: Path, known: Ids) -> pl.DataFrame | None:
    """Ids and titles of one JSON object by item id; None where the file is JSON lines."""
    import polars as pl

    try:
        found = json.loads(read_bytes(path))
    except ValueError:
        return None
    if not isinstance(found, dict) or (known.numbers(found) < 0).all():
        return None
    texts = [_text(value, f"{path}: item {key!r}") for key, value in found.items()]
    return pl.DataFrame({"item": list(found), "title": texts})


def _text(value: Any, where: str) -> str:
    """A title of a text, a number, or a list of attributes."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) for part in parts):
        raise InputError(f"{where} has {value!r:.60}, expected a text or a list of attributes")
    return ", ".join(map(str, parts))
