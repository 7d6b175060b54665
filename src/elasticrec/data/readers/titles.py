"""Titles of items, from a table beside the interactions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import position
from elasticrec.data.readers.tables import read_columns
from elasticrec.errors import InputError
from elasticrec.files import check_readable


def with_titles(
    interactions: Interactions,
    path: Path | str,
    *,
    item: str | None = None,
    title: str | None = None,
) -> Interactions:
    """The same interactions, with titles from a CSV, TSV or Parquet file; "" where it has none.

    Args:
        item: column of the item ids; `id` or one of the usual names where not given.
        title: column of the titles; one of the usual names where not given.
    """
    import polars as pl

    path = check_readable(path)

    def choice(found: list[str]) -> dict[str, int]:
        ids = "id" if item is None and "id" in found else item
        return {
            "item": position("item", ids, found, str(path)),
            "title": position("title", title, found, str(path)),
        }

    columns, _ = read_columns(path, choice)
    named = columns["item"].cast(pl.String).str.strip_chars()
    numbers = interactions.item_ids.numbers(named.to_list())
    known = numbers >= 0
    if not known.any():
        example = interactions.item_ids.of_number(0)
        raise InputError(
            f"{path}: has a title for none of the items, expected ids like {example!r}"
        )
    titles = np.full(len(interactions.item_ids), "", dtype=object)
    texts = columns["title"].cast(pl.String).fill_null("").to_list()
    titles[numbers[known]] = np.array(texts, dtype=object)[known]
    return replace(interactions, titles=titles)
