"""Interactions from a polars or pandas frame, or from a sparse matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Choice, Columns
from elasticrec.data.readers.gathering import gathered
from elasticrec.data.readers.values import counted
from elasticrec.data.spool import stretches
from elasticrec.errors import InputError


def from_frame(frame: Any, columns: Columns | None = None, *, name: str = "data") -> Interactions:
    """The interactions in the rows of a polars or pandas frame."""
    wanted = columns or Columns()
    whole = columns_of(frame, lambda found: wanted.choose(found, name), name)

    batches = (
        (whole[rows], counted(lambda row: f"{name} row {row}", rows.start))
        for rows in stretches(len(whole))
    )
    return gathered(batches, wanted, name=name)


def columns_of(frame: Any, choice: Choice, name: str) -> pl.DataFrame:
    """The chosen columns of a polars or pandas frame."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise InputError(f"{name}: is of type {kind}, expected a pandas or polars frame")
    chosen = choice([str(column) for column in frame.columns])
    return pl.DataFrame({meaning: _series(frame, at) for meaning, at in chosen.items()})


def _series(frame: Any, position: int) -> pl.Series:
    """One column of a polars frame, or of a pandas frame (without needing pyarrow)."""
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


def from_csr(matrix: Any, columns: Columns | None = None, *, name: str = "data") -> Interactions:
    """The interactions at the non-zero places of a scipy sparse (users, items) matrix.

    Numbers of rows and columns are the ids; `where` and `weight` call the values `value`.
    """
    wanted, cells = columns or Columns(), matrix.tocoo()
    chosen = wanted.min_rating is not None or wanted.where is not None
    if (bad := ~np.isfinite(cells.data) | ((cells.data < 0) & (not chosen))).any():
        found = cells.data[bad][0]
        raise InputError(f"{name}: holds the value {found}, expected numbers from 0")
    kept = cells.data != 0
    found = {"user": cells.row[kept], "item": cells.col[kept], "value": cells.data[kept]}
    rating = None if wanted.min_rating is None else "value"
    named = replace(wanted, user="user", item="item", time=None, rating=rating)
    return from_frame(pl.DataFrame(found), named, name=name)
