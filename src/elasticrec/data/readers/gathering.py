"""Gathering: interactions of rows that come batch by batch, of which few are held in memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.values import Numbers, Times, Where, checked_ids, liked_rows
from elasticrec.data.spool import Spool
from elasticrec.errors import InputError
from elasticrec.progress import PATIENCE

log = logging.getLogger(__name__)

EXAMPLES = {
    "where": "a condition in SQL such as \"event == 'purchase'\"",
    "weight": "a column, or SQL such as \"CASE event WHEN 'view' THEN 1 ELSE 5 END\"",
}

Batch = tuple["pl.DataFrame", Where]
"""Columns called user, item and, where known, rating and time, and the places of their rows;
columns that conditions and weights name are called `=NAME`."""


def gathered(
    batches: Iterable[Batch], columns: Columns, *, name: str, source: str | None = None
) -> Interactions:
    """The interactions of all batches; `source` names the whole in errors, else `name` does."""
    rows = _Rows(columns, source or name)
    for frame, place in batches:
        if len(frame):
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


class Expression:
    """What `where` or `weight` says of a row."""

    def __init__(self, option: str, text: str) -> None:
        self.text, self.said = text, f"{option} {text!r}"
        self.expected = f"expected {EXAMPLES[option]}"
        try:
            self.parsed = pl.sql_expr(text).alias("found")
            self.names = list(dict.fromkeys(self.parsed.meta.root_names()))
        except Exception as error:  # polars has no one class for texts that it cannot parse
            reason = (str(error).splitlines() or [""])[0][:100]
            raise InputError(f"{self.said}: {reason}, {self.expected}") from None
        if not self.names:
            raise InputError(f"{self.said}: names no column, {self.expected}")

    def of(self, frame: pl.DataFrame) -> pl.Series:
        """The value of each row."""
        try:
            found = frame.select(self.parsed).to_series()
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{self.said} cannot be used ({str(error).splitlines()[0]})") from None
        if len(found) != len(frame):
            raise InputError(f"{self.said}: has one value for all rows, {self.expected}")
        return found


class RowChoice:
    """Rows that meet a condition and weigh something, of columns that come batch by batch."""

    def __init__(self, columns: Columns, source: str) -> None:
        self.where, self.weight = columns.expressions
        self.source = source
        self.n_rows = self.n_met = self.n_weighing = 0
        self._numeric: list[str] = []
        self._examples: dict[str, list[Any]] = {}

    def of(self, frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers of the rows of a batch that are chosen, and their weights; None: all alike."""
        named, rows = _named(frame), np.arange(len(frame))
        if not self.n_rows:  # the first batch tells which texts are numbers
            numeric = [column for column in named if _as_numbers(column).dtype == pl.Float64]
            self._numeric = [column.name for column in numeric]
            self._examples = {column.name: column.unique()[:3].to_list() for column in named}
        self.n_rows += len(rows)
        if self.where is not None:
            rows = np.flatnonzero(self._met(self.where, named))
        self.n_met += len(rows)
        if self.weight is None or not len(rows):
            return rows, None
        weights = self._weights(self.weight, named[rows])
        self.n_weighing += int(np.count_nonzero(weights))
        return rows[weights > 0], weights[weights > 0]

    def finish(self) -> None:
        """Say how many rows were left out; raise an error where none are left."""
        if self.where is not None:
            none = f"no row meets {self.where.text!r}{self._example(self.where)}"
            self._say(self.n_met, self.n_rows, f"{self.where.said} does not hold", none)
        if self.weight is not None:
            none = f"{self.weight.said} is 0 for every row, expected some above 0"
            self._say(self.n_weighing, self.n_met, "of weight 0", none)

    def _say(self, kept: int, of: int, why: str, none: str) -> None:
        """Say how many rows are left out for a reason; raise an error where none are left."""
        if of and not kept:
            raise InputError(f"{self.source}: {none}")
        if kept < of:
            log.info("%s: left out %s of %s rows %s", self.source, f"{of - kept:,}", f"{of:,}", why)

    def _met(self, where: Expression, named: pl.DataFrame) -> np.ndarray:
        """True for each row that meets the condition."""
        numbers = pl.col(self._numeric).cast(pl.Float64, strict=False)
        found = where.of(named.with_columns(numbers))
        if found.dtype != pl.Boolean:
            raise InputError(f"{where.said}: gives {found.dtype}, {where.expected}")
        return found.fill_null(False).to_numpy()

    def _weights(self, weight: Expression, named: pl.DataFrame) -> np.ndarray:
        """The weight of each row, a finite number from 0."""
        found = weight.of(named.with_columns(map(_as_numbers, named)))
        said = f"{self.source}: {weight.said} gives"
        if not (found.dtype.is_numeric() or found.dtype == pl.Boolean):
            raise InputError(f"{said} {found.dtype}, expected numbers{self._example(weight)}")
        weights = found.cast(pl.Float64)
        wrong = (weights.is_null() | ~weights.is_finite() | (weights < 0)).fill_null(True)
        if wrong.any():
            n = f"{wrong.sum():,} rows"
            value = weights.filter(wrong)[0]
            raise InputError(f"{said} {value} for {n}, expected finite numbers from 0")
        return weights.to_numpy()

    def _example(self, expression: Expression) -> str:
        """Some values of an expression's columns, for an error."""
        names, known = expression.names, self._examples
        shown = [(name, ", ".join(map(repr, known.get(name, [])))) for name in names]
        return "".join(f"; {name!r} has values like {values}" for name, values in shown)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that conditions and weights name, without space around texts."""
    named = pl.DataFrame({key[1:]: frame[key] for key in frame.columns if key[0] == "="})
    return named.with_columns(pl.col(pl.String).str.strip_chars())


def _as_numbers(column: pl.Series) -> pl.Series:
    """The column as numbers where every text in it is one, and any is; "" is none."""
    if column.dtype != pl.String:
        return column
    filled = column.replace("", None)
    numbers = filled.cast(pl.Float64, strict=False)
    same = numbers.null_count() == filled.null_count() < len(column)
    return numbers if same else column
