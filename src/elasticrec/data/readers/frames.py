"""Interactions from a polars or pandas frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.gathering import Batches, counted, gathered
from elasticrec.data.spool import stretches
from elasticrec.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from elasticrec.data.readers.tables import Choice


def from_frame(frame: Any, columns: Columns | None = None, *, name: str = "data") -> Interactions:
    """The interactions in the rows of a polars or pandas frame."""
    wanted = columns or Columns()
    series = columns_of(frame, lambda found: wanted.choose(found, name), name)

    def batches() -> Batches:
        for rows in stretches(len(series["user"])):
            batch = {meaning: column[rows] for meaning, column in series.items()}
            yield batch, counted(lambda row: f"{name} row {row}", rows.start)

    return gathered(batches, wanted, name=name)


def columns_of(frame: Any, choice: Choice, name: str) -> dict[str, pl.Series]:
    """The chosen columns of a polars or pandas frame."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise InputError(f"{name}: is of type {kind}, expected a pandas or polars frame")
    chosen = choice([str(column) for column in frame.columns])
    return {meaning: _series(frame, at).alias(meaning) for meaning, at in chosen.items()}


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
