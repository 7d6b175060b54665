"""Times of interactions: whole numbers, fractions of seconds, and dates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

ISO = r"^\d{4}[-/]\d"
"""Begin of a date as text."""


def times_of(column: pl.Series, where: Callable[[int], str]) -> np.ndarray:
    """(n,) int64: whole numbers as they are; fractions, dates and date texts in microseconds."""
    import polars as pl

    if column.dtype == pl.String:
        text = column.str.strip_chars()
        times: pl.Series = text.cast(pl.Int64, strict=False)
        if times.null_count():
            times = text.cast(pl.Float64, strict=False)
        if times.null_count() and text.str.contains(ISO).fill_null(False).any():
            times = _dates(text.set(~text.str.contains(ISO).fill_null(False), None))
    else:
        times = column
    if times.dtype in (pl.Date, pl.Datetime):
        times = times.cast(pl.Datetime("us")).dt.epoch("us")
    else:
        if times.dtype.is_float():
            times = (times.fill_nan(None) * 1e6).floor().cast(pl.Int64, strict=False)
        if times.dtype.is_integer():
            times = times.set((times < 0).fill_null(False), None)
    bad = times.is_null()
    if bad.any() or not times.dtype.is_integer():
        row = int(bad.arg_true()[0]) if bad.any() else 0
        raise InputError(
            f"{where(row)}: time {column[row]!r} is not usable, expected a number from 0 or a date "
            "such as 2021-08-14 09:30:00 (a random split needs no times)"
        )
    return times.cast(pl.Int64).to_numpy()


def _dates(text: pl.Series) -> pl.Series:
    """Times of ISO dates, in any mixture of precision and zone; null where there is none."""
    import polars as pl

    plain = text.str.replace(r" (UTC|GMT)$", "Z").str.replace(r" ([+-]\d{2}:?\d{2})$", "$1")
    times = pl.repeat(None, len(text), dtype=pl.Datetime("us", "UTC"), eager=True)
    while (open_ := plain.filter(times.is_null()).drop_nulls()).len():
        # Its form follows from the first text, so others may be left for another round.
        found = open_.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        if found.null_count() == len(found):
            break
        rows = (times.is_null() & plain.is_not_null()).arg_true()
        times = times.scatter(rows, found)
    return times
