"""Titles of items, from a table, JSON lines, or one JSON object."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import position
from elasticrec.data.readers.jsonlines import read_objects
from elasticrec.data.readers.tables import read_columns
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.files import check_readable, only_member, read_bytes

if TYPE_CHECKING:
    import polars as pl

    from elasticrec.data.ids import Ids

log = logging.getLogger(__name__)

Titled = TypeVar("Titled", Interactions, Split)


def with_titles(
    named: Titled, path: Path | str, *, item: str | None = None, title: str | None = None
) -> Titled:
    """The same data, with titles of items from a file; "" where it has none.

    The file is a text table, a Parquet table, JSON lines, or one JSON object by item id, whose
    values are texts or lists of attributes. A table whose first field is a number has no header:
    its first two columns are item and title.

    Args:
        item: column of the item ids; `id` or one of the usual names where not given.
        title: column of the titles; one of the usual names where not given.
    """
    import polars as pl

    path = check_readable(only_member(path))
    columns = _columns(path, item, title, named.item_ids)
    numbers = named.item_ids.numbers(columns["item"].cast(pl.String).str.strip_chars())
    known = numbers >= 0
    if not known.any():
        example = named.item_ids.of_number(0)
        raise InputError(
            f"{path}: has a title for none of the items, expected ids like {example!r}"
        )
    titles = np.full(len(named.item_ids), "", dtype=object)
    texts = columns["title"].cast(pl.String).fill_null("").to_list()
    titles[numbers[known]] = np.array(texts, dtype=object)[known]
    missing = int((titles == "").sum())
    if missing:
        log.info("%s: has no title for %s of %s items", path, f"{missing:,}", f"{len(titles):,}")
    return replace(named, titles=titles)


def _columns(path: Path, item: str | None, title: str | None, known: Ids) -> dict[str, pl.Series]:
    """Parallel ids and titles."""

    def choice(found: list[str]) -> dict[str, int]:
        ids = "id" if item is None and "id" in found else item
        return {
            "item": position("item", ids, found, str(path)),
            "title": position("title", title, found, str(path)),
        }

    if path.name.removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson")):
        by_id = _by_id(path, known)
        return read_objects(path, choice) if by_id is None else by_id
    return read_columns(path, choice, headerless=("item", "title"), lossy=True)[0]


def _by_id(path: Path, known: Ids) -> dict[str, pl.Series] | None:
    """Ids and titles of one JSON object by item id; None where the file is JSON lines."""
    import polars as pl

    try:
        found = json.loads(read_bytes(path))
    except ValueError:
        return None
    if not isinstance(found, dict) or (known.numbers(found) < 0).all():
        return None
    texts = [_text(value, f"{path}: item {key!r}") for key, value in found.items()]
    return {"item": pl.Series(list(found), dtype=pl.String), "title": pl.Series(texts)}


def _text(value: Any, where: str) -> str:
    """A title of a text, a number, or a list of attributes."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) for part in parts):
        raise InputError(f"{where} has {value!r:.60}, expected a text or a list of attributes")
    return ", ".join(map(str, parts))
