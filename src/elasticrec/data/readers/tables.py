"""Reader of CSV, TSV and Parquet tables with a header: one row per interaction."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import Where, from_series
from elasticrec.errors import InputError
from elasticrec.files import check_readable, opened, plain_name, read_bytes

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = ",;\t|"
"""What may part the columns of a text table; the most frequent one of the header is taken."""
LONGEST_HEADER = 1_000_000
"""Bytes; a first line longer than this is no header."""

Choice = Callable[[list[str]], dict[str, int]]
"""Given the names of all columns, says which to read: what each means, and where it is."""


def read_table(
    path: Path | str,
    columns: Columns | None = None,
    *,
    parquet: bool | None = None,
    name: str | None = None,
) -> Interactions:
    """The interactions of a CSV, TSV (plain or `.gz`) or Parquet file.

    Args:
        parquet: True for a Parquet file; by the end of its name where not given.
    """
    path, wanted = check_readable(path), columns or Columns()
    series, where = read_columns(
        path, lambda found: wanted.choose(found, str(path)), parquet=parquet
    )
    name = name or plain_name(path)
    return from_series(series, wanted, where=where, name=name, source=str(path))


def read_columns(
    path: Path, choice: Choice, *, parquet: bool | None = None
) -> tuple[dict[str, pl.Series], Where]:
    """The chosen columns of a table, and what tells the place of a row in the file."""
    if path.suffix in (".parquet", ".pq") if parquet is None else parquet:
        return _parquet_columns(path, choice), lambda row: f"{path} row {row + 1}"
    return _text_columns(path, choice)


def _parquet_columns(path: Path, choice: Choice) -> dict[str, pl.Series]:
    """The chosen columns of a Parquet file."""
    import polars as pl

    try:
        with path.open("rb") as file:
            names = list(pl.read_parquet_schema(file))
        chosen = choice(names)
        wanted = [names[at] for at in chosen.values()]
        frame = pl.read_parquet(path, columns=wanted, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: is not a sound Parquet file ({_first_line(error)})") from None
    return {meaning: frame[names[at]] for meaning, at in chosen.items()}


def _text_columns(path: Path, choice: Choice) -> tuple[dict[str, pl.Series], Where]:
    """The chosen columns of a CSV or TSV file, as text."""
    import polars as pl

    header, separator = _header(path)
    chosen = choice(header)
    positions = sorted(chosen.values())
    source = io.BytesIO(read_bytes(path)) if path.suffix == ".gz" else path
    try:
        frame = pl.read_csv(
            source, columns=positions, separator=separator, infer_schema=False, glob=False
        )
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, separator, len(header), error) from None
    columns = {m: frame.to_series(positions.index(at)) for m, at in chosen.items()}
    blank = pl.select(pl.all_horizontal(*(column.is_null() for column in columns.values())))
    if blank.to_series().any():
        _check_only_blank(path, separator, list(chosen.values()))
        columns = {m: column.filter(~blank.to_series()) for m, column in columns.items()}
    return columns, lambda row: f"{path} line {_line_of(path, separator, row)}"


def _header(path: Path) -> tuple[list[str], str]:
    """The column names of a text table, and what separates them."""
    with opened(path) as file:
        line = b""
        while not line.strip():
            line = file.readline(LONGEST_HEADER)
            if not line:
                raise InputError(f"{path}: is empty, expected a header and interactions")
        following = file.read(1000)
    if b"\0" in line + following:
        raise InputError(f"{path}: is a binary file, expected a text table with a header")
    if len(line) == LONGEST_HEADER:
        raise InputError(f"{path}: has no line breaks, expected a text table with a header")
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    separator = max(SEPARATORS, key=text.count)
    names = next(csv.reader([text], delimiter=separator))
    return [name.strip() for name in names], separator


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row below the header that is not blank; slow, for errors."""
    csv.field_size_limit(2**31 - 1)
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        rows = csv.reader(text, delimiter=separator)
        filled = (row for row in rows if len(row) > 1 or "".join(row).strip())
        next(filled, None)
        for row in filled:
            yield rows.line_num, row


def _line_of(path: Path, separator: str, wanted: int) -> int:
    """The line (from 1) on which row `wanted` (from 0) ends."""
    for row, (line, _) in enumerate(_rows(path, separator)):
        if row == wanted:
            return line
    return wanted + 2


def _check_only_blank(path: Path, separator: str, positions: list[int]) -> None:
    """Nothing if rows without any value are blank lines; otherwise an error naming one."""
    for line, fields in _rows(path, separator):
        if not any(fields[at].strip() for at in positions if at < len(fields)):
            raise InputError(f"{path} line {line}: user and item are missing, expected both")


def _unreadable(path: Path, separator: str, width: int, error: Exception) -> InputError:
    """The error that says which line a table reader stumbled over."""
    for line, fields in _rows(path, separator):
        if len(fields) > width:
            return InputError(f"{path} line {line}: has {len(fields)} fields, expected {width}")
        if any("�" in field for field in fields):
            return InputError(f"{path} line {line}: is not UTF-8 text, expected UTF-8")
    return InputError(f"{path}: is not a sound table ({_first_line(error)})")


def _first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:150]
