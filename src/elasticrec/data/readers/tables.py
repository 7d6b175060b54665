"""Reader of text and Parquet tables: one row per interaction, or per item."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import Where, from_series
from elasticrec.errors import InputError
from elasticrec.files import check_readable, opened, plain_name, read_bytes, zip_member

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = ("::", "\t", ",", ";", "|")
"""Separators of a text table; the most frequent one of the first line, or a space, is taken."""
UNIT = "\x1f"
"""Stands for a separator of several characters, in a table without quotes."""
MOVIELENS = ("user", "item", "rating", "time")
"""Columns of MovieLens' ratings, whose older files have no header."""
NO_TEXT = {
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "text in UTF-16"),
    b"\x1f\x8b": "a gzip file without .gz in its name",
    b"PK\3\4": "a zip archive or a spreadsheet",
    b"PAR1": "a Parquet file",
}
"""What a file is, by its first bytes."""
LONGEST_HEADER = 1_000_000
"""Bytes; a first line longer than this is no header."""

Choice = Callable[[list[str]], dict[str, int]]
"""Given the names of all columns, the places of those to read, by what each means."""


def read_table(
    path: Path | str,
    columns: Columns | None = None,
    *,
    parquet: bool | None = None,
    movielens: bool = False,
    name: str | None = None,
) -> Interactions:
    """The interactions of a text table (plain or `.gz`) or a Parquet file.

    Args:
        parquet: True for a Parquet file; by the end of its name where not given.
        movielens: a table without a header has MovieLens' columns, whatever separates them.
    """
    path, wanted = check_readable(path), columns or Columns()
    series, where = read_columns(
        path,
        lambda found: wanted.choose(found, str(path)),
        wanted,
        parquet=parquet,
        headerless=MOVIELENS if movielens else (),
    )
    name = name or plain_name(path)
    return from_series(series, wanted, where=where, name=name, source=str(path))


def read_columns(
    path: Path,
    choice: Choice,
    columns: Columns | None = None,
    *,
    parquet: bool | None = None,
    headerless: tuple[str, ...] = (),
    lossy: bool = False,
) -> tuple[dict[str, pl.Series], Where]:
    """The chosen columns of a table, and a function from a row to its place in words.

    Args:
        columns: says the separator, and the names of all columns of a file without a header.
        headerless: columns of a file whose first field is a number, so that it has no header;
            those of MovieLens where `::` stands between them.
        lossy: read text that is not UTF-8 as Latin-1.
    """
    if path.suffix in (".parquet", ".pq") if parquet is None else parquet:
        return _parquet_columns(path, choice), lambda row: f"{path} row {row + 1}"
    layout = _layout(path, columns or Columns(), headerless)
    return _text_columns(path, choice, layout, lossy=lossy)


def _parquet_columns(path: Path, choice: Choice) -> dict[str, pl.Series]:
    """The chosen columns of a Parquet file."""
    import polars as pl

    try:
        source = io.BytesIO(read_bytes(path)) if zip_member(path) else path
        with opened(path) as file:
            names = list(pl.read_parquet_schema(file))
        chosen = choice(names)
        wanted = list(dict.fromkeys(names[at] for at in chosen.values()))
        frame = pl.read_parquet(source, columns=wanted, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: is not a sound Parquet file ({_first_line(error)})") from None
    return {meaning: frame[names[at]] for meaning, at in chosen.items()}


@dataclass(frozen=True)
class Layout:
    """Form of a text table."""

    names: list[str]
    """Names of all columns, from left to right."""
    separator: str
    """Stands between two fields; fields may be quoted only if it is a single character."""
    header: bool
    """True where the first line holds the names."""

    def rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of each row that is not blank; slow, for errors."""
        csv.field_size_limit(2**31 - 1)
        with opened(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
            if len(self.separator) > 1:
                lines = (line.replace(self.separator, UNIT) for line in text)
                rows = csv.reader(lines, delimiter=UNIT, quoting=csv.QUOTE_NONE)
            else:
                rows = csv.reader(text, delimiter=self.separator)
            filled = (row for row in rows if len(row) > 1 or "".join(row).strip())
            if self.header:
                next(filled, None)
            for row in filled:
                yield rows.line_num, row

    def line_of(self, path: Path, wanted: int) -> int:
        """The line (from 1) on which row `wanted` (from 0) ends."""
        found = (line for row, (line, _) in enumerate(self.rows(path)) if row == wanted)
        return next(found, wanted + 2)


def _layout(path: Path, columns: Columns, headerless: tuple[str, ...]) -> Layout:
    """The form of a text table, by its first line and by what is known of its columns."""
    with opened(path) as file:
        line = b""
        while not line.strip():
            line = file.readline(LONGEST_HEADER)
            if not line:
                raise InputError(f"{path}: is empty, expected a header and interactions")
        following = file.read(1000)
    kind = next((kind for start, kind in NO_TEXT.items() if line.startswith(start)), None)
    if kind or b"\0" in line + following:
        kind = kind or "a binary file"
        raise InputError(f"{path}: is {kind}, expected a text table with a header, in UTF-8")
    if len(line) == LONGEST_HEADER or b"\r" in line.rstrip(b"\r\n"):
        raise InputError(f"{path}: has no line feeds, expected a text table with a header")
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    best = max(SEPARATORS, key=text.count)
    separator = (columns.separator or (best if best in text else " ")).replace("\\t", "\t")
    single = len(separator) == 1
    fields = next(csv.reader([text], delimiter=separator)) if single else text.split(separator)
    names = columns.names
    if names is None and fields[0].strip().isdigit() and (headerless or separator == "::"):
        names = (headerless or MOVIELENS)[: len(fields)]
    if names is not None and len(names) > len(fields):
        found = f"{len(fields)} columns separated by {separator!r}"
        raise InputError(f"{path}: has {found}, expected {', '.join(names)}")
    if names is not None:
        unnamed = [f"column {at + 1}" for at in range(len(names), len(fields))]
        return Layout([*names, *unnamed], separator, header=False)
    typed = re.compile(r":(token|float)(_seq)?$")  # as RecBole writes the types of columns
    return Layout([typed.sub("", name.strip()) for name in fields], separator, header=True)


def _text_columns(
    path: Path, choice: Choice, layout: Layout, *, lossy: bool
) -> tuple[dict[str, pl.Series], Where]:
    """The chosen columns of a text table, as text."""
    import polars as pl

    chosen = choice(layout.names)
    positions = sorted(set(chosen.values()))
    separator = layout.separator
    source: Path | io.BytesIO = path
    if path.suffix == ".gz" or len(separator) > 1 or zip_member(path) or lossy:
        content = _utf8(read_bytes(path)) if lossy else read_bytes(path)
        if len(separator) > 1:
            content = content.replace(separator.encode(), UNIT.encode())
        source = io.BytesIO(content)
    try:
        frame = pl.read_csv(
            source,
            columns=positions,
            separator=separator if len(separator) == 1 else UNIT,
            quote_char='"' if len(separator) == 1 else None,
            has_header=layout.header,
            infer_schema=False,
            glob=False,
        )
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, layout, error) from None
    columns = {m: frame.to_series(positions.index(at)) for m, at in chosen.items()}
    blank = pl.select(pl.all_horizontal(*(column.is_null() for column in columns.values())))
    if blank.to_series().any():
        for line, fields in layout.rows(path):  # only blank lines may have no value at all
            if not any(fields[at].strip() for at in positions if at < len(fields)):
                raise InputError(f"{path} line {line}: user and item are missing, expected both")
        columns = {m: column.filter(~blank.to_series()) for m, column in columns.items()}
    return columns, lambda row: f"{path} line {layout.line_of(path, row)}"


def _utf8(content: bytes) -> bytes:
    """The content as UTF-8; what is not is taken for Latin-1."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode()
    return content


def _unreadable(path: Path, layout: Layout, error: Exception) -> InputError:
    """The error that says which line a table reader stumbled over."""
    width = len(layout.names)
    for line, fields in layout.rows(path):
        if len(fields) > width:
            return InputError(f"{path} line {line}: has {len(fields)} fields, expected {width}")
        if any("\ufffd" in field for field in fields):
            return InputError(f"{path} line {line}: is not UTF-8 text, expected UTF-8")
    return InputError(f"{path}: is not a sound table ({_first_line(error)})")


def _first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:150]
