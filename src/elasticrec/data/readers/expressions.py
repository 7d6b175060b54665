"""Conditions and weights of rows: expressions in SQL over the columns of a table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)

EXAMPLES = {
    "where": "a condition in SQL such as \"event = 'purchase'\"",
    "weight": "a column, or SQL such as \"CASE event WHEN 'view' THEN 1 ELSE 5 END\"",
}


def names_in(text: str | None, what: str = "where") -> list[str]:
    """The columns that an expression names; none without a text."""
    return [] if text is None else list(dict.fromkeys(_parsed(text, what).meta.root_names()))


def chosen_rows(
    columns: Mapping[str, pl.Series], where: str | None, weight: str | None, source: str
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Numbers of the rows that meet a condition and weigh something, and their weights.

    None stands for all rows, and for no weights.
    """
    if where is None and weight is None:
        return None, None
    rows = np.arange(len(next(iter(columns.values()))))
    if where is not None:
        kept = _kept(where, columns, source).to_numpy()
        _log_left_out(source, kept, f"where {where!r} does not hold")
        rows = rows[kept]
    if weight is None:
        return rows, None
    named = {name: columns[name].gather(rows) for name in names_in(weight, "weight")}
    weights = _weights(weight, named, source).to_numpy()
    _log_left_out(source, weights > 0, "of weight 0")
    return rows[weights > 0], weights[weights > 0]


def _log_left_out(source: str, kept: np.ndarray, why: str) -> None:
    """Say how many rows are left out for a reason, if any are."""
    if not kept.all():
        n = np.count_nonzero(~kept)
        log.info("%s: left out %s of %s rows %s", source, f"{n:,}", f"{len(kept):,}", why)


def _kept(text: str, columns: Mapping[str, pl.Series], where: str) -> pl.Series:
    """True for each row that meets a condition."""
    import polars as pl

    found = _evaluated(text, columns, "where", where)
    if found.dtype != pl.Boolean:
        raise InputError(f"where {text!r}: gives {found.dtype}, expected {EXAMPLES['where']}")
    kept = found.fill_null(False)
    if not kept.any():
        raise InputError(f"{where}: no row meets {text!r}{_example(columns)}")
    return kept


def _weights(text: str, columns: Mapping[str, pl.Series], where: str) -> pl.Series:
    """The weight of each row, a finite number from 0."""
    import polars as pl

    found = _evaluated(text, columns, "weight", where)
    if not (found.dtype.is_numeric() or found.dtype == pl.Boolean):
        raise InputError(
            f"{where}: weight {text!r} gives {found.dtype}, expected numbers{_example(columns)}"
        )
    weights = found.cast(pl.Float64)
    wrong = (weights.is_null() | ~weights.is_finite() | (weights < 0)).fill_null(True)
    if wrong.any():
        value = weights.filter(wrong)[0]
        raise InputError(
            f"{where}: weight {text!r} gives {value} for {int(wrong.sum()):,} rows, expected "
            "finite numbers from 0"
        )
    if not (weights > 0).any():
        raise InputError(f"{where}: weight {text!r} is 0 for every row, expected some above 0")
    return weights


def _evaluated(text: str, columns: Mapping[str, pl.Series], what: str, where: str) -> pl.Series:
    """An expression's value in every row; text columns that hold numbers count as numbers."""
    import polars as pl

    names = names_in(text, what)
    frame = pl.DataFrame({name: _numbers(columns[name]) for name in names})
    try:
        found = frame.select(_parsed(text, what).alias("found")).to_series()
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{where}: {what} {text!r} cannot be used ({reason})") from None
    if len(found) != len(frame):
        raise InputError(f"{what} {text!r}: has one value for all rows, expected {EXAMPLES[what]}")
    return found


def _numbers(column: pl.Series) -> pl.Series:
    """The column as numbers where every text in it is one."""
    import polars as pl

    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
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


def _example(columns: Mapping[str, pl.Series]) -> str:
    """Some values of the columns, for an error."""
    parts = [
        f"{name!r} has values like {', '.join(repr(v) for v in column.unique().head(3).to_list())}"
        for name, column in columns.items()
    ]
    return f"; {'; '.join(parts)}" if parts else ""
