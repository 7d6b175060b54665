"""Conditions and weights of rows: expressions in SQL over the columns of a table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)

EXAMPLES = {
    "where": "a condition in SQL such as \"event == 'purchase'\"",
    "weight": "a column, or SQL such as \"CASE event WHEN 'view' THEN 1 ELSE 5 END\"",
}


def names_in(text: str | None, what: str = "where") -> list[str]:
    """The columns that an expression names; none without a text."""
    return [] if text is None else list(dict.fromkeys(_parsed(text, what).meta.root_names()))


class RowChoice:
    """Rows that meet a condition and weigh something, of columns that come batch by batch."""

    def __init__(self, where: str | None, weight: str | None, source: str) -> None:
        self.where, self.weight, self.source = where, weight, source
        self.n_rows = self.n_met = self.n_weighing = 0
        self._texts: set[str] = set()
        self._examples: dict[str, list[Any]] = {}

    def look(self, columns: Mapping[str, pl.Series]) -> bool:
        """Note which texts are not all numbers; True where it takes all batches to know."""
        import polars as pl

        read = {name: columns[name] for name in names_in(self.where)}
        texts = {name: column for name, column in read.items() if column.dtype == pl.String}
        self._texts |= {n for n, column in texts.items() if _numbers(column).dtype == pl.String}
        return bool(texts)

    def of(self, columns: Mapping[str, pl.Series]) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers of the rows of a batch that are chosen, and their weights; None: all alike."""
        rows = np.arange(len(next(iter(columns.values()))))
        if not self.n_rows:
            self._examples = {name: c.unique().head(3).to_list() for name, c in columns.items()}
        self.n_rows += len(rows)
        if self.where is not None:
            rows = np.flatnonzero(self._met(columns))
        self.n_met += len(rows)
        if self.weight is None or not len(rows):
            return rows, None
        names = names_in(self.weight, "weight")
        weights = self._weights({name: columns[name].gather(rows) for name in names})
        self.n_weighing += int(np.count_nonzero(weights))
        return rows[weights > 0], weights[weights > 0]

    def finish(self) -> None:
        """Say how many rows were left out; raise an error where none are left."""
        if not self.n_met:
            raise InputError(f"{self.source}: no row meets {self.where!r}{self._example('where')}")
        if self.n_met < self.n_rows:
            self._log_left_out(self.n_met, self.n_rows, f"where {self.where!r} does not hold")
        if self.weight is None:
            return
        if not self.n_weighing:
            raise InputError(
                f"{self.source}: weight {self.weight!r} is 0 for every row, expected some above 0"
            )
        if self.n_weighing < self.n_met:
            self._log_left_out(self.n_weighing, self.n_met, "of weight 0")

    def _log_left_out(self, kept: int, of: int, why: str) -> None:
        """Say how many rows are left out for a reason."""
        log.info("%s: left out %s of %s rows %s", self.source, f"{of - kept:,}", f"{of:,}", why)

    def _met(self, columns: Mapping[str, pl.Series]) -> np.ndarray:
        """True for each row that meets the condition."""
        import polars as pl

        found = self._evaluated(str(self.where), columns, "where")
        if found.dtype != pl.Boolean:
            expected = f"expected {EXAMPLES['where']}"
            raise InputError(f"where {self.where!r}: gives {found.dtype}, {expected}")
        return found.fill_null(False).to_numpy()

    def _weights(self, columns: Mapping[str, pl.Series]) -> np.ndarray:
        """The weight of each row, a finite number from 0."""
        import polars as pl

        found = self._evaluated(str(self.weight), columns, "weight")
        said = f"{self.source}: weight {self.weight!r} gives"
        if not (found.dtype.is_numeric() or found.dtype == pl.Boolean):
            raise InputError(f"{said} {found.dtype}, expected numbers{self._example('weight')}")
        weights = found.cast(pl.Float64)
        wrong = (weights.is_null() | ~weights.is_finite() | (weights < 0)).fill_null(True)
        if wrong.any():
            value = weights.filter(wrong)[0]
            n = f"{int(wrong.sum()):,} rows"
            raise InputError(f"{said} {value} for {n}, expected finite numbers from 0")
        return weights.to_numpy()

    def _evaluated(self, text: str, columns: Mapping[str, pl.Series], what: str) -> pl.Series:
        """An expression's value in every row; text columns of numbers alone count as numbers."""
        import polars as pl

        names = names_in(text, what)
        texts = self._texts if what == "where" else ()  # weights need numbers in chosen rows alone
        frame = pl.DataFrame(
            {n: _stripped(columns[n]) if n in texts else _numbers(columns[n]) for n in names}
        )
        try:
            found = frame.select(_parsed(text, what).alias("found")).to_series()
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            said = f"{self.source}: {what} {text!r} cannot be used"
            raise InputError(f"{said} ({reason})") from None
        if len(found) != len(frame):
            expected = f"expected {EXAMPLES[what]}"
            raise InputError(f"{what} {text!r}: has one value for all rows, {expected}")
        return found

    def _example(self, what: str) -> str:
        """Some values of an expression's columns, for an error."""
        parts = [
            f"{name!r} has values like {', '.join(map(repr, self._examples[name]))}"
            for name in names_in(getattr(self, what), what)
        ]
        return f"; {'; '.join(parts)}" if parts else ""


def _stripped(column: pl.Series) -> pl.Series:
    """Text without the space around it; other columns as they are."""
    import polars as pl

    return column.str.strip_chars() if column.dtype == pl.String else column


def _numbers(column: pl.Series) -> pl.Series:
    """The column as numbers where every text in it is one."""
    import polars as pl

    if column.dtype != pl.String:
        return column
    text = _stripped(column)
    filled = text.set((text == "").fill_null(False), None)
    numbers = filled.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == filled.null_count() else text


def _parsed(text: str, what: str) -> pl.Expr:
    """The expression that a text means."""
    import polars as pl

    try:
        found = pl.sql_expr(text)
        names = found.meta.root_names()
    except Exception as error:  # polars has no one class for texts that it cannot parse
        if isinstance(error, ImportError):
            raise
        reason = (str(error).splitlines() or [""])[0][:100]
        raise InputError(f"{what} {text!r}: {reason}, expected {EXAMPLES[what]}") from None
    if not names:
        raise InputError(f"{what} {text!r}: names no column, expected {EXAMPLES[what]}")
    return found
