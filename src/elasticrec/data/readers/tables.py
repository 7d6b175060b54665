"""Reader of text and Parquet tables: one row per interaction, or per item."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.gathering import Batch, counted
from elasticrec.data.spool import AT_ONCE
from elasticrec.errors import InputError
from elasticrec.files import check_readable, opened, read_bytes, zip_member

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
"""The kind of a file by its first bytes."""
CHUNK_BYTES = 32_000_000
"""Bytes of a text that are read at once."""
LONGEST_HEADER = 1_000_000
"""Bytes; a first line longer than this is no header."""

Choice = Callable[[list[str]], dict[str, int]]
"""Given the names of all columns, the places of those to read, by what each means."""


def table_batches(
    path: Path,
    choice: Choice,
    columns: Columns | None = None,
    *,
    parquet: bool | None = None,
    headerless: tuple[str, ...] = (),
    lossy: bool = False,
) -> Iterator[Batch]:
    """The chosen columns of a text table (plain or `.gz`) or a Parquet file, some rows at a time.

    Args:
        columns: says the separator, and the names of all columns of a file without a header.
        parquet: True for a Parquet file; by the end of its name where not given.
        headerless: columns of a file whose first field is a number, so that it has no header;
            those of MovieLens where `::` stands between them.
        lossy: read text that is not UTF-8 as Latin-1.
    """
    path = check_readable(path)
    if path.suffix in (".parquet", ".pq") if parquet is None else parquet:
        return _parquet_batches(path, choice)
    return _text_batches(path, choice, _layout(path, columns or Columns(), headerless), lossy=lossy)


def _parquet_batches(path: Path, choice: Choice) -> Iterator[Batch]:
    """The chosen columns of a Parquet file."""
    import polars as pl

    try:
        source = io.BytesIO(read_bytes(path)) if zip_member(path) else path
        with opened(path) as file:
            names = list(pl.read_parquet_schema(file))
        chosen = choice(names)
        wanted = list(dict.fromkeys(names[at] for at in chosen.values()))
        whole, start = pl.scan_parquet(source, glob=False).select(wanted), 0
        while len(frame := whole.slice(start, AT_ONCE).collect()):
            series = {meaning: frame[names[at]] for meaning, at in chosen.items()}
            yield series, counted(lambda row: f"{path} row {row + 1}", start)
            start += len(frame)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: is not a sound Parquet file ({_first_line(error)})") from None


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


def whole_lines(file: IO[bytes], *, quoted: bool = False) -> Iterator[bytes]:
    """The content in pieces that end with a line; a quoted field may hold line breaks."""
    rest = b""
    while piece := file.read(CHUNK_BYTES):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if quoted and rest.count(b'"', 0, end) % 2:
            text = np.frombuffer(rest, np.uint8, end)
            outside = ~np.logical_xor.accumulate(text == ord('"'))
            end = int(np.flatnonzero((text == ord("\n")) & outside)[-1:].sum()) + 1
            end = end if end > 1 else 0
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _text_batches(path: Path, choice: Choice, layout: Layout, *, lossy: bool) -> Iterator[Batch]:
    """The chosen columns of a text table, as text."""
    import polars as pl

    chosen = choice(layout.names)
    positions = sorted(set(chosen.values()))
    single, start = len(layout.separator) == 1, 0
    schema = {f"column {at + 1}": pl.String for at in range(len(layout.names))}
    with opened(path) as file:
        for number, content in enumerate(whole_lines(file, quoted=single)):
            text = _utf8(content) if lossy else content
            if not single:
                text = text.replace(layout.separator.encode(), UNIT.encode())
            header = layout.header and number == 0
            if not text.strip():
                continue
            try:
                frame = pl.read_csv(
                    text, columns=positions, separator=layout.separator if single else UNIT,
                    quote_char='"' if single else None, has_header=header, infer_schema=False,
                    schema=None if number == 0 else schema, glob=False,
                )  # fmt: skip
            except pl.exceptions.PolarsError as error:
                raise _unreadable(path, layout, error) from None
            columns = {m: frame.to_series(positions.index(at)) for m, at in chosen.items()}
            blank = pl.select(pl.all_horizontal(*(c.is_null() for c in columns.values())))
            if blank.to_series().any():
                _check_blank(path, layout, positions)
                columns = {m: column.filter(~blank.to_series()) for m, column in columns.items()}
            yield columns, counted(lambda row: f"{path} line {layout.line_of(path, row)}", start)
            start += len(next(iter(columns.values())))


def _check_blank(path: Path, layout: Layout, positions: list[int]) -> None:
    """Raise an error over a row without any value that is read; only a blank line may be so."""
    for line, fields in layout.rows(path):
        if not any(fields[at].strip() for at in positions if at < len(fields)):
            raise InputError(f"{path} line {line}: user and item are missing, expected both")


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
