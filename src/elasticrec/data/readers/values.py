"""Values of rows that come batch by batch: ids, ratings and times."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from elasticrec.data.ids import Ids
from elasticrec.data.spool import Spool, taken
from elasticrec.errors import InputError

log = logging.getLogger(__name__)

NO_IDS = ("nan", "null", "none", "na", "n/a")
"""Texts that are likely a missing id; read as an id, with a warning."""
ISO = r"^(\d{4}[-/]\d.*)$"
"""A date with the year first."""
YEAR_LAST = r"^(\d\d?)[/.](\d\d?)[/.](\d{4})(?:\D+(\d\d?)(:\d.*))?$"
"""A date as Americans and Europeans write it, the former with the month before the day."""
Where = Callable[[int], str]
"""Gives the place of a row (from 0) in words, as an error names it: `ratings.csv line 7`."""


def counted(place: Where, start: int) -> Where:
    """The places of rows that begin at row `start` of their file."""
    return lambda row: place(start + row)


def checked_ids(column: pl.Series, meaning: str, where: Where) -> pl.Series:
    """The ids as integers or text, after none was found missing."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
    elif column.dtype.is_float():
        column = column.fill_nan(None)
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise InputError(f"{where(row)}: the {meaning} is missing, expected an id in every row")
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if not (whole.cast(column.dtype) == column).fill_null(False).all():
            found = f"{where(0)}: {meaning}s are fractions"
            raise InputError(f"{found}, expected whole numbers or text")
        return whole
    if column.dtype.is_integer():
        return column if column.dtype in (pl.UInt64, pl.Int128) else column.cast(pl.Int64)
    if column.dtype != pl.String:
        found = f"{where(0)}: {meaning}s are of type {column.dtype}"
        raise InputError(f"{found}, expected whole numbers or text")
    return column


def liked_rows(column: pl.Series, least: float, where: Where) -> np.ndarray:
    """Numbers of the rows whose rating is large enough, after each was found to be a number."""
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    numbers = column.cast(pl.Float64, strict=False).fill_nan(None)
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0])
        raise InputError(f"{where(row)}: rating {column[row]!r} is not a number, expected one")
    return (numbers >= least).arg_true().to_numpy()


class Numbers:
    """Dense numbers of ids, in ascending order of the ids once all are known."""

    def __init__(self, meaning: str) -> None:
        self.meaning, self.ids = meaning, Ids.dense(0)
        self._type: pl.DataType | None = None
        self._codes = pl.Categorical(pl.Categories.random())
        self._kept = pl.Series([], dtype=self._codes)  # polars forgets codes that no series has
        self._numbers, self._listed = Spool(np.int32), list[Any]()
        self._place = np.empty(0, dtype=np.int32)  # of a code's text in the list, or -1

    def add(self, column: pl.Series, where: Where) -> None:
        """Number the ids of one more batch by their first appearance."""
        if self._type is not None and column.dtype != self._type:
            found = f"{self.meaning}s are of type {column.dtype}"
            raise InputError(f"{where(0)}: {found}, expected {self._type} as before")
        self._type = column.dtype
        texts = column.cast(pl.String)
        codes = texts.cast(self._codes).to_physical().to_numpy()
        more = max(0, int(codes.max()) + 1 - len(self._place))
        self._place = np.append(self._place, np.full(more, -1, dtype=np.int32))
        rows = np.flatnonzero(self._place[codes] < 0)
        new, first = np.unique(codes[rows], return_index=True)
        self._place[new] = len(self._listed) + np.arange(len(new))
        self._listed += texts.gather(rows[first]).to_list()
        self._numbers.add(self._place[codes])

    def finish(self, source: str) -> np.ndarray:
        """The number of each row; `ids` are known from now on."""
        ids, self._listed = Ids.from_text(self._listed), []
        by_id = np.argsort(ids.values) if not ids.are_text else pl.Series(ids.values).arg_sort()
        self.ids = ids.take(np.asarray(by_id))
        texts = self.ids.values if self.ids.are_text else ()
        if odd := [text for text in texts if text.lower() in NO_IDS]:
            log.warning("%s: the %s %r looks like a missing id, kept", source, self.meaning, odd[0])
        rank = np.empty(len(by_id), dtype=np.uint32)
        rank[by_id] = np.arange(len(by_id))
        return taken(rank, self._numbers.array())


class Times:
    """Times of rows: whole numbers as they are; fractions, dates and date texts in microseconds."""

    def __init__(self) -> None:
        self._times = Spool(np.int64)
        self._whole: list[slice] = []
        self._kinds: set[str] = set()
        self._day: str | None = None

    def add(self, column: pl.Series, where: Where) -> None:
        """Add the times of one more batch."""
        if not self._kinds:
            self._day = _place_of_days(column)
        times, kind = times_of(column, where, self._day)
        self._kinds.add(kind)
        if "date" in self._kinds and len(self._kinds) > 1:
            raise InputError(
                f"{where(0)}: time {column[0]!r} is a {kind}, expected dates alone or none"
            )
        if kind == "whole number":
            self._whole.append(slice(self._times.length, self._times.length + len(times)))
        self._times.add(times)

    def finish(self) -> np.ndarray | None:
        """All times, in one unit; None where there are none."""
        times = self._times.array()
        if "fraction" in self._kinds:
            for rows in self._whole:
                times[rows] = np.floor(times[rows] * 1e6)
        return times if len(times) else None


def times_of(column: pl.Series, where: Where, day: str | None) -> tuple[np.ndarray, str]:
    """(n,) int64, and what they were: `whole number`, `fraction` or `date`."""
    times = column
    if column.dtype == pl.String:
        text = _year_first(column.str.strip_chars(), day)
        times = text.cast(pl.Int64, strict=False)
        if times.null_count():
            times = text.cast(pl.Float64, strict=False)
        if times.null_count() and (dates := text.str.extract(ISO)).count():
            times = _dates(dates)
    kind = "whole number"
    if times.dtype in (pl.Date, pl.Datetime):
        kind, times = "date", times.cast(pl.Datetime("us")).dt.epoch("us")
    elif times.dtype.is_float():
        seconds = times.fill_nan(None)
        kind, times = "fraction", (seconds * 1e6).floor().cast(pl.Int64, strict=False)
    if kind != "date" and times.dtype.is_integer():
        times = times.set((times < 0).fill_null(False), None)
    if times.null_count() or not times.dtype.is_integer():
        row = next(iter(times.is_null().arg_true()), 0)
        raise InputError(
            f"{where(row)}: time {column[row]!r} is not usable, expected a number from 0 or a date "
            "such as 2021-08-14 09:30:00 (--split random needs none)"
        )
    return times.cast(pl.Int64).to_numpy(), kind


def _place_of_days(column: pl.Series) -> str | None:
    """`1` or `2`, where days stand in dates that end with the year, as the first batch tells.

    That number is above 12 at times; before dots the day always comes first.
    """
    if column.dtype != pl.String:
        return None
    parts = column.str.strip_chars().str.extract_groups(YEAR_LAST).struct.unnest()
    above = {n for n in "12" if (parts[n].cast(pl.Int64) > 12).any()}
    above |= {"1"} if column.str.contains(r"^\s*\d+\.\d+\.\d{4}").any() else set()
    return above.pop() if len(above) == 1 else None


def _year_first(text: pl.Series, day: str | None) -> pl.Series:
    """The texts, with dates such as `12/31/2010 8:26` as ISO dates, if the day's place is known."""
    if day is None:
        return text
    parts = text.str.extract_groups(YEAR_LAST).struct.unnest()
    days, months = parts[day].str.zfill(2), parts["21"[int(day) - 1]].str.zfill(2)
    clock = (" " + parts["4"].str.zfill(2) + parts["5"]).fill_null("")
    return (parts["3"] + "-" + months + "-" + days + clock).fill_null(text)


def _dates(text: pl.Series) -> pl.Series:
    """Times of ISO dates, in any mixture of precision and zone; null where there is none."""
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
