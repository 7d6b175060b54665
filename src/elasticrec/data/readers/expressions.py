"""Conditions and weights of rows: expressions in SQL over the columns of a table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from elasticrec.data.readers.columns import Columns

log = logging.getLogger(__name__)

EXAMPLES = {
    "where": "a condition in SQL such as \"event == 'purchase'\"",
    "weight": "a column, or SQL such as \"CASE event WHEN 'view' THEN 1 ELSE 5 END\"",
}


class Expression:
    """What `where` or `weight` says of a row."""

    def __init__(self, option: str, text: str) -> None:
        import polars as pl

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
        import polars as pl

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
        self._texts: set[str] = set()
        self._examples: dict[str, list[Any]] = {}

    def look(self, frame: pl.DataFrame) -> bool:
        """Note which texts are not all numbers; True where it takes all batches to know."""
        import polars as pl

        read = () if self.where is None else _named(frame).select(self.where.names)
        texts = [column for column in read if column.dtype == pl.String]
        self._texts |= {column.name for column in texts if _as_numbers(column).dtype == pl.String}
        return bool(texts)

    def of(self, frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers of the rows of a batch that are chosen, and their weights; None: all alike."""
        named, rows = _named(frame), np.arange(len(frame))
        if not self.n_rows:
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
        if self.where is not None and self.n_rows:
            if not self.n_met:
                raise InputError(
                    f"{self.source}: no row meets {self.where.text!r}{self._example(self.where)}"
                )
            self._log_left_out(self.n_met, self.n_rows, f"{self.where.said} does not hold")
        if self.weight is not None and self.n_rows:
            if not self.n_weighing:
                said = f"{self.source}: {self.weight.said}"
                raise InputError(f"{said} is 0 for every row, expected some above 0")
            self._log_left_out(self.n_weighing, self.n_met, "of weight 0")

    def _log_left_out(self, kept: int, of: int, why: str) -> None:
        """Say how many rows are left out for a reason, if any are."""
        if kept < of:
            log.info("%s: left out %s of %s rows %s", self.source, f"{of - kept:,}", f"{of:,}", why)

    def _met(self, where: Expression, named: pl.DataFrame) -> np.ndarray:
        """True for each row that meets the condition."""
        import polars as pl

        numbers = [_as_numbers(column) for column in named if column.name not in self._texts]
        found = where.of(named.with_columns(numbers))
        if found.dtype != pl.Boolean:
            raise InputError(f"{where.said}: gives {found.dtype}, {where.expected}")
        return found.fill_null(False).to_numpy()

    def _weights(self, weight: Expression, named: pl.DataFrame) -> np.ndarray:
        """The weight of each row, a finite number from 0."""
        import polars as pl

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
        parts = [
            f"; {name!r} has values like {', '.join(map(repr, self._examples[name]))}"
            for name in expression.names
        ]
        return "".join(parts)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that conditions and weights name, without space around texts."""
    import polars as pl

    named = pl.DataFrame({key[1:]: frame[key] for key in frame.columns if key[0] == "="})
    return named.with_columns(pl.col(pl.String).str.strip_chars())


def _as_numbers(column: pl.Series) -> pl.Series:
    """The column as numbers where every text in it is one; "" is none."""
    import polars as pl

    if column.dtype != pl.String:
        return column
    filled = column.replace("", None)
    numbers = filled.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == filled.null_count() else column
