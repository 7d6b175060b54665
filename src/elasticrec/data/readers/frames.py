"""Interactions from a polars or pandas frame: its ids, ratings and times."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.data.ids import INTEGER, Ids
from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.expressions import chosen_rows
from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

log = logging.getLogger(__name__)

NO_IDS = ("nan", "null", "none", "na", "n/a")
"""Texts that are likely a missing id; read as an id, with a warning."""
ISO = r"^\d{4}[-/]\d"
"""Begin of a date as text."""
YEAR_LAST = r"^(\d\d?)[/.](\d\d?)[/.](\d{4})(?:\D+(\d\d?)(:\d.*))?$"
"""A date as Americans and Europeans write it, the former with the month before the day."""
Where = Callable[[int], str]
"""Gives the place of a row (from 0) in words, as an error names it: `ratings.csv line 7`."""


def from_frame(frame: Any, columns: Columns | None = None, *, name: str = "data") -> Interactions:
    """The interactions in the rows of a polars or pandas frame."""
    columns = columns or Columns()
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise InputError(f"{name}: is of type {kind}, expected a pandas or polars frame")
    chosen = columns.choose([str(column) for column in frame.columns], name)
    series = {meaning: _series(frame, at).alias(meaning) for meaning, at in chosen.items()}
    return from_series(series, columns, where=lambda row: f"{name} row {row}", name=name)


def from_series(
    series: dict[str, pl.Series],
    columns: Columns,
    *,
    where: Where,
    name: str,
    source: str | None = None,
) -> Interactions:
    """The interactions of parallel series called user, item and, where known, rating and time.

    Takes the series out of the dict as it goes, so that large text is freed early.

    Args:
        source: names the whole in errors; `name` where not given.
    """
    source = source or name
    if not len(series["user"]):
        raise InputError(f"{source}: has no rows, expected interactions")
    others = {key[1:]: series.pop(key) for key in list(series) if key.startswith("=")}
    rows, weights = chosen_rows(others, columns.where, columns.weight, source)
    places = np.arange(len(series["user"])) if rows is None else rows

    def place(row: int) -> str:
        return where(int(places[row]))

    if rows is not None:
        series.update({meaning: column.gather(rows) for meaning, column in series.items()})
    for meaning in ("user", "item"):
        series[meaning] = _checked_ids(series[meaning], meaning, place)
    if columns.min_rating is not None:
        liked = _liked(series.pop("rating"), columns.min_rating, place, source)
        series.update({meaning: column.filter(liked) for meaning, column in series.items()})
        places = places[liked.to_numpy()]
        weights = None if weights is None else weights[liked.to_numpy()]
    times = times_of(series.pop("time"), place) if "time" in series else None
    users, user_ids = _encoded(series.pop("user"))
    items, item_ids = _encoded(series.pop("item"))
    for meaning, ids in (("user", user_ids), ("item", item_ids)):
        odd = [text for text in ids.values if text.lower() in NO_IDS] if ids.are_text else []
        if odd:
            log.warning("%s: the %s %r looks like a missing id, kept", source, meaning, odd[0])
    whole = Interactions.of_columns(
        users,
        items,
        user_ids,
        item_ids,
        times=times,
        weights=weights,
        ordered=columns.ordered,
        name=name,
    )
    repeated = len(users) - len(whole.pairs)
    log.info(
        "%s: %s interactions of %s users with %s items; %s", source,
        f"{len(whole.pairs):,}", f"{len(user_ids):,}", f"{len(item_ids):,}",
        f"left out {repeated:,} rows that repeat one" if repeated else "no row repeats one",
    )  # fmt: skip
    return whole


def _series(frame: Any, position: int) -> pl.Series:
    """One column of a polars frame, or of a pandas frame (without needing pyarrow)."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame.to_series(position)
    column = frame.iloc[:, position]
    if column.dtype.kind in "iufbM" and isinstance(column.dtype, np.dtype):
        return pl.Series(column.to_numpy(), nan_to_null=True)
    codes, different = column.factorize()  # missing values get code -1
    try:
        known = pl.Series([*different.tolist(), None], strict=True)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in different}))
        raise InputError(
            f"column {column.name!r} mixes values of type {kinds}, expected one type"
        ) from None
    return known.gather(np.where(codes < 0, len(different), codes))


def _checked_ids(column: pl.Series, meaning: str, where: Where) -> pl.Series:
    """The ids as integers or text, after none was found missing."""
    import polars as pl

    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        missing = column.is_null() | (column == "")
    else:
        missing = column.is_null()
        if column.dtype.is_float():
            missing |= column.is_nan()
    if missing.any():
        row = int(missing.arg_true()[0])
        raise InputError(f"{where(row)}: the {meaning} is missing, expected an id in every row")
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if not (whole.cast(column.dtype) == column).fill_null(False).all():
            raise InputError(
                f"{where(0)}: {meaning}s are fractions, expected whole numbers or text"
            )
        return whole
    if not (column.dtype.is_integer() or column.dtype == pl.String):
        raise InputError(
            f"{where(0)}: {meaning}s are of type {column.dtype}, expected whole numbers or text"
        )
    return column


def _liked(column: pl.Series, least: float, where: Where, source: str) -> pl.Series:
    """True for each rating that is large enough, after each was found to be a number."""
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    numbers = column.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | numbers.is_nan()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise InputError(f"{where(row)}: rating {column[row]!r} is not a number, expected one")
    liked = numbers >= least
    if not liked.any():
        raise InputError(f"{source}: no rating is {least:g} or more")
    log.info(
        "%s: left out %s of %s rows with a rating below %g", source,
        f"{len(liked) - int(liked.sum()):,}", f"{len(liked):,}", least,
    )  # fmt: skip
    return liked


def _encoded(column: pl.Series) -> tuple[np.ndarray, Ids]:
    """Dense numbers of the ids, in ascending order of the ids, and the ids."""
    import polars as pl

    if column.dtype == pl.String:
        # Text that would be spelled differently as a number, such as "007", stays text.
        whole = column.cast(pl.Int64, strict=False)
        if (whole.cast(pl.String) == column).fill_null(False).all():
            column = whole
    if column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128):
        values, numbers = np.unique(column.cast(pl.Int64).to_numpy(), return_inverse=True)
        return numbers, Ids(values)
    different = column.unique().sort()
    listed: list[Any] = different.to_list()
    if column.dtype == pl.String and all(INTEGER.fullmatch(text) for text in listed):
        listed = sorted(int(text) for text in listed)  # integers beyond 64 bits
        different = pl.Series([str(value) for value in listed])
    numbered = pl.DataFrame({"id": different}).with_row_index("number")
    joined = pl.DataFrame({"id": column}).join(numbered, on="id", how="left", maintain_order="left")
    return joined["number"].to_numpy(), Ids.of(listed)


def times_of(column: pl.Series, where: Where) -> np.ndarray:
    """(n,) int64: whole numbers as they are; fractions, dates and date texts in microseconds."""
    import polars as pl

    if column.dtype == pl.String:
        text = _year_first(column.str.strip_chars())
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


def _year_first(text: pl.Series) -> pl.Series:
    """The texts, with dates such as `12/31/2010 8:26` as ISO dates, if one of them says the order.

    It does where one of its first two numbers is above 12; dots always stand behind the day.
    """
    import polars as pl

    parts = text.str.extract_groups(YEAR_LAST).struct.unnest()
    if parts["1"].null_count() == len(text):
        return text
    above = [bool((parts[name].cast(pl.Int64) > 12).any()) for name in ("1", "2")]
    days_first = above[0] or bool(text.str.contains(r"^\d+\.").any())
    if days_first == above[1]:
        return text
    day, month = (parts[name].str.zfill(2) for name in ("12" if days_first else "21"))
    clock = (" " + parts["4"].str.zfill(2) + parts["5"]).fill_null("")
    return (parts["3"] + "-" + month + "-" + day + clock).fill_null(text)


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
