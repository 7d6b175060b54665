"""Gathering: interactions of rows that come batch by batch, of which few are held in memory."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Generator
from contextlib import closing
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

Batch = tuple[dict[str, "pl.Series"], Where]
"""Parallel series called user, item and, where known, rating and time, and the places of rows."""

Batches = Generator[Batch, None, None]


def gathered(
    batches: Callable[[], Batches],
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
    rows, seen = _Rows(columns, source or name), []
    with closing(batches()) as given:
        for batch in given:
            seen.append(batch)
            if len(batch[0]["user"]):
                break
        again = bool(seen) and rows.look(seen[-1][0])
        for series, place in given if again else itertools.chain(seen, given):
            rows.look(series) if again else rows.add(series, place)
    if again:
        with closing(batches()) as given:
            for series, place in given:
                rows.add(series, place)
    return rows.finish(name)


class _Rows:
    """Rows that are read: ids as numbers, times and weights, in columns that may be long."""

    def __init__(self, columns: Columns, source: str) -> None:
        self.columns, self.source = columns, source
        self.choice: RowChoice | None = None
        if columns.where is not None or columns.weight is not None:
            self.choice = RowChoice(columns.where, columns.weight, source)
        self.users, self.items = Numbers("user"), Numbers("item")
        self.times, self.weights = Times(), Spool(np.float64)
        self.n_read = self.n_liked = 0
        self.said = time.monotonic()

    def look(self, series: dict[str, pl.Series]) -> bool:
        """Learn what texts mean; True where it takes all batches, before the first is added."""
        again = self.choice is not None and self.choice.look(_named(series))
        return ("time" in series and self.times.look(series["time"])) or again

    def add(self, series: dict[str, pl.Series], place: Where) -> None:
        """Add the rows of a batch that conditions and ratings leave."""
        weights: np.ndarray | None = None
        if self.choice is not None:
            rows, weights = self.choice.of(_named(series))
            series = {key: each.gather(rows) for key, each in series.items() if key[0] != "="}
            place = _among(place, rows)
        for meaning in ("user", "item"):
            series = series | {meaning: checked_ids(series[meaning], meaning, place)}
        self.n_read += len(series["user"])
        if self.columns.min_rating is not None:
            liked = liked_rows(series["rating"], self.columns.min_rating, place)
            series = {meaning: column.gather(liked) for meaning, column in series.items()}
            place, weights = _among(place, liked), None if weights is None else weights[liked]
        if not len(series["user"]):
            return
        self.n_liked += len(series["user"])
        if "time" in series:
            self.times.add(series["time"], place)
        self.users.add(series["user"], place)
        self.items.add(series["item"], place)
        if weights is not None:
            self.weights.add(weights)
        if time.monotonic() - self.said > PATIENCE:
            self.said = time.monotonic()
            log.info("%s: %s rows read", self.source, f"{self.n_read:,}")

    def finish(self, name: str) -> Interactions:
        """The interactions of all rows."""
        source, least = self.source, self.columns.min_rating
        if self.choice is not None and self.choice.n_rows:
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


def _named(series: dict[str, pl.Series]) -> dict[str, pl.Series]:
    """The columns that conditions and weights name."""
    return {key[1:]: column for key, column in series.items() if key[0] == "="}


def counted(place: Where, start: int) -> Where:
    """The places of rows that begin at row `start` of their file."""
    return lambda row: place(start + row)


def _among(place: Where, rows: np.ndarray) -> Where:
    """The places of some rows."""
    return lambda row: place(int(rows[row]))
