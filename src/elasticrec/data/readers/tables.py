"""Reader of text tables, Parquet and JSON lines: one row per interaction, or per item."""

from __future__ import annotations

import csv
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from elasticrec.data.readers.columns import Choice, Columns
from elasticrec.data.readers.gathering import Batch
from elasticrec.data.readers.values import counted
from elasticrec.data.spool import AT_ONCE
from elasticrec.errors import InputError
from elasticrec.files import check_readable, opened, read_bytes, zip_member

SEPARATORS = ("::", "\t", ",", ";", "|")
"""Separators of a text table; the most frequent one of the first line, or a space, is taken."""
UNIT = "\x1f"
"""Stands for a separator of several characters, in a table without quotes."""
MOVIELENS = ("user", "item", "rating", "time")
"""Columns of MovieLens' ratings, whose older files have no header."""
BINARY = (b"\x1f\x8b", b"PK\3\4", b"PAR1")
"""First bytes of gzip files, of zip archives and spreadsheets, and of Parquet files."""
CHUNK_BYTES = 32_000_000
"""Bytes of a text that are read at once."""
LONGEST_HEADER = 1_000_000
"""Bytes; a first line longer than this is no header."""


def table_batches(
    path: Path, kind: str, choice: Choice, columns: Columns, *, titles: bool = False
) -> Iterator[Batch]:
    """The chosen columns of a table (plain, `.gz` or in a `.zip`), some rows at a time.

    A text table of titles may be in Latin-1, and is without a header where it begins with a number.
    """
    if kind == "parquet":
        return _parquet_batches(path, choice)
    if kind == "json":
        return _json_batches(path, choice)
    headerless = MOVIELENS if kind == "movielens" else ("item", "title") if titles else ()
    return _text_batches(path, choice, _layout(path, columns, headerless), lossy=titles)


def _parquet_batches(path: Path, choice: Choice) -> Iterator[Batch]:
    """The chosen columns of a Parquet file."""
    source = io.BytesIO(read_bytes(path)) if zip_member(path) else check_readable(path)
    try:
        whole = pl.scan_parquet(source, glob=False)
        names, start = whole.collect_schema().names(), 0
        chosen = [pl.col(names[at]).alias(meaning) for meaning, at in choice(names).items()]
        while len(frame := whole.select(chosen).slice(start, AT_ONCE).collect()):
            yield frame, counted(lambda row: f"{path} row {row + 1}", start)
            start += len(frame)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: is not a sound Parquet file ({_first_line(error)})") from None


def _json_batches(path: Path, choice: Choice) -> Iterator[Batch]:
    """The chosen fields of a file with one JSON object per line, as text.

    The fields of the first object are the columns; a later object may have fewer.
    """
    first = next(_objects(path), None)
    if first is None:
        raise InputError(f"{path}: has no rows, expected interactions")
    names, start = list(first[1]), 0
    chosen = {meaning: names[at] for meaning, at in choice(names).items()}
    schema = dict.fromkeys(chosen.values(), pl.String)
    with opened(path) as file:
        for content in whole_lines(file):
            try:
                frame = pl.read_ndjson(io.BytesIO(content), schema=schema)
            except pl.exceptions.PolarsError as error:
                for _ in _objects(path):
                    pass
                raise InputError(f"{path}: cannot be read ({_first_line(error)})") from None
            frame = frame.select(pl.col(field).alias(each) for each, field in chosen.items())
            yield frame, counted(lambda row: f"{path} line {_line(_objects(path), row)}", start)
            start += len(frame)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Line number and object of each line that is not blank; slow, for errors."""
    with opened(path) as file:
        for line, text in enumerate(file, start=1):
            if text.strip():
                try:
                    found = json.loads(text)
                except ValueError:
                    found = None
                if not isinstance(found, dict):
                    said = "is not a JSON object, expected one per line"
                    raise InputError(f"{path} line {line}: {said}")
                yield line, found


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
            text = io.TextIOWrapper(
                file, encoding="utf-8-sig", errors="surrogateescape", newline=""
            )
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


def _layout(path: Path, columns: Columns, headerless: tuple[str, ...]) -> Layout:
    """The form of a text table, by its first line and by what is known of its columns."""
    with opened(path) as file:
        line = b""
        while not line.strip():
            line = file.readline(LONGEST_HEADER)
            if not line:
                raise InputError(f"{path}: is empty, expected a header and interactions")
    endless = len(line) == LONGEST_HEADER or b"\r" in line.rstrip(b"\r\n")
    if endless or b"\0" in line or line.startswith(BINARY):
        found = "has no line feeds" if endless else "is a binary or packed file, or text in UTF-16"
        raise InputError(f"{path}: {found}, expected a text table with a header, in UTF-8")
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    best = max(SEPARATORS, key=text.count)
    separator = (columns.separator or (best if best in text else " ")).replace("\\t", "\t")
    single = len(separator) == 1
    fields = next(csv.reader([text], delimiter=separator)) if single else text.split(separator)
    names = columns.names
    if names is None and fields[0].strip().isdigit() and (headerless or separator == "::"):
        names = (headerless or MOVIELENS)[: len(fields)]
    if names is None:
        typed = re.compile(r":(token|float)(_seq)?$")  # as RecBole writes the types of columns
        return Layout([typed.sub("", name.strip()) for name in fields], separator, header=True)
    if len(names) > len(fields):
        found = f"{len(fields)} columns separated by {separator!r}"
        raise InputError(f"{path}: has {found}, expected {', '.join(names)}")
    unnamed = [f"column {at + 1}" for at in range(len(names), len(fields))]
    return Layout([*names, *unnamed], separator, header=False)


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
    chosen = choice(layout.names)
    positions = sorted(set(chosen.values()))
    single, start, header = len(layout.separator) == 1, 0, layout.header
    separator = layout.separator if single else UNIT
    names = [str(at) for at in range(len(layout.names))]
    first = separator.join(names).encode() + b"\n"
    with opened(path) as file:
        for content in whole_lines(file, quoted=single):
            text = (_utf8(content) if lossy else content).removeprefix(BOM_UTF8)
            if header and text.strip():
                text, header = text.lstrip().partition(b"\n")[2], False
            if not single:
                text = text.replace(layout.separator.encode(), separator.encode())
            if not text.strip():
                continue
            try:
                frame = pl.read_csv(
                    first + text, columns=[names[at] for at in positions], separator=separator,
                    quote_char='"' if single else None, infer_schema=False,
                )  # fmt: skip
            except pl.exceptions.PolarsError as error:
                _check_rows(path, layout, positions)
                raise InputError(f"{path}: is not a sound table ({_first_line(error)})") from None
            filled = frame.filter(~pl.all_horizontal(pl.all().is_null()))
            if len(filled) < len(frame) and not lossy:
                _check_rows(path, layout, positions)
            named = filled.select(pl.col(names[at]).alias(each) for each, at in chosen.items())
            yield named, counted(lambda row: f"{path} line {_line(layout.rows(path), row)}", start)
            start += len(filled)


def _check_rows(path: Path, layout: Layout, positions: list[int]) -> None:
    """Raise an error over the first row that cannot be used; only a blank line may lack values."""
    width = len(layout.names)
    for line, fields in layout.rows(path):
        if len(fields) > width:
            wrong = f"has {len(fields)} fields, expected {width}"
        elif re.search("[\udc80-\udcff]", "".join(fields)):  # where bytes could not be decoded
            wrong = "is not UTF-8 text, expected UTF-8"
        elif not any(fields[at].strip() for at in positions if at < len(fields)):
            wrong = "user and item are missing, expected both"
        else:
            continue
        raise InputError(f"{path} line {line}: {wrong}")


def _utf8(content: bytes) -> bytes:
    """The content as UTF-8; what is not is taken for Latin-1."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode()
    return content


def _line(rows: Iterator[tuple[int, Any]], wanted: int) -> int:
    """The line (from 1) on which row `wanted` (from 0) ends."""
    return next(islice(rows, wanted, None))[0]


def _first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return str(error).partition("\n")[0][:150]
