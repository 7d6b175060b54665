"""Gathering: interactions of rows that come batch by batch, of which few are held in memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.expressions import RowChoice
from elasticrec.data.readers.values import Numbers, Times, Where, checked_ids, liked_rows
from elasticrec.data.spool import Spool
from elasticrec.errors import InputError
from elasticrec.progress import PATIENCE

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)

Batch = tuple["pl.DataFrame", Where]
"""Columns called user, item and, where known, rating and time, and the places of their rows;
columns that conditions and weights name are called `=NAME`."""


def gathered(
    batches: Callable[[], Iterator[Batch]],
    columns: Columns,
    *,
    name: str,
    source: str | None = None,
) -> Interactions:
    """The interactions of all batches.

    Args:
        batches: gives them from the first on; twice, where it takes all to know what one means.
        source: names the whole in errors; `name` where not given.
    """
    rows, again = _Rows(columns, source or name), False
    for number, (frame, place) in enumerate(batch for batch in batches() if len(batch[0])):
        if again or not number:
            again = rows.look(frame) or again
        if not again:
            rows.add(frame, place)
    if again:
        for frame, place in batches():
            rows.add(frame, place)
    return rows.finish(name)


class _Rows:
    """Rows that are read: ids as numbers, times and weights, in columns that may be long."""

    def __init__(self, columns: Columns, source: str) -> None:
        self.columns, self.source = columns, source
        self.choice = RowChoice(columns, source)
        self.users, self.items = Numbers("user"), Numbers("item")
        self.times, self.weights = Times(), Spool(np.float64)
        self.n_read = self.n_liked = 0
        self.said = time.monotonic()

    def look(self, frame: pl.DataFrame) -> bool:
        """Learn what texts mean; True where it takes all batches, before the first is added."""
        again = self.choice.look(frame)
        return ("time" in frame.columns and self.times.look(frame["time"])) or again

    def add(self, frame: pl.DataFrame, place: Where) -> None:
        """Add the rows of a batch that conditions and ratings leave."""
        rows, weights = self.choice.of(frame)
        if len(rows) < len(frame):
            frame = frame[rows]

        def where(row: int) -> str:
            return place(int(rows[row]))

        users, items = (checked_ids(frame[each], each, where) for each in ("user", "item"))
        self.n_read += len(frame)
        if self.columns.min_rating is not None:
            liked = liked_rows(frame["rating"], self.columns.min_rating, where)
            frame, users, items, rows = frame[liked], users[liked], items[liked], rows[liked]
            weights = None if weights is None else weights[liked]
        if not len(frame):
            return
        self.n_liked += len(frame)
        if "time" in frame.columns:
            self.times.add(frame["time"], where)
        self.users.add(users, where)
        self.items.add(items, where)
        if weights is not None:
            self.weights.add(weights)
        if time.monotonic() - self.said > PATIENCE:
            self.said = time.monotonic()
            log.info("%s: %s rows read", self.source, f"{self.n_read:,}")

    def finish(self, name: str) -> Interactions:
        """The interactions of all rows."""
        source, least = self.source, self.columns.min_rating
        self.choice.finish()
        if not self.n_read:
            raise InputError(f"{source}: has no rows, expected interactions")
        if not self.n_liked:
            raise InputError(f"{source}: no rating is {least:g} or more")
        if least is not None:
            n = f"{self.n_read - self.n_liked:,} of {self.n_read:,}"
            log.info("%s: left out %s rows with a rating below %g", source, n, least)
        whole = Interactions.of_columns(
            *(self.users.finish(source), self.items.finish(source)),
            *(self.users.ids, self.items.ids), times=self.times.finish(),
            weights=None if self.columns.weight is None else self.weights.array(),
            ordered=self.columns.ordered, name=name,
        )  # fmt: skip
        repeated = self.n_liked - len(whole.pairs)
        log.info(
            "%s: %s interactions of %s users with %s items; %s", source,
            f"{len(whole.pairs):,}", f"{len(self.users.ids):,}", f"{len(self.items.ids):,}",
            f"left out {repeated:,} rows that repeat one" if repeated else "no row repeats one",
        )  # fmt: skip
        return whole
