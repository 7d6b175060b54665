"""Reader of JSON lines: one JSON object per interaction, as Yelp and Amazon publish reviews."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.data.readers.gathering import Batch, counted
from elasticrec.data.readers.tables import Choice, whole_lines
from elasticrec.errors import InputError
from elasticrec.files import opened

if TYPE_CHECKING:
    import polars as pl


def json_batches(path: Path, choice: Choice) -> Iterator[Batch]:
    """The chosen fields of a file with one JSON object per line, as text, some lines at a time.

    The fields of the first object are the columns; a later object may have fewer.
    """
    line, start = 1, 0
    chosen: dict[str, str] | None = None
    with opened(path) as file:
        for content in whole_lines(file):
            if chosen is None and content.strip():
                keys = _first_keys(content.splitlines(), path, line)
                chosen = {meaning: keys[at] for meaning, at in choice(keys).items()}
            if chosen is not None:
                frame = _parsed(content, chosen, path, line)
                series = {meaning: frame[meaning] for meaning in chosen}
                yield series, counted(lambda row: f"{path} line {_line_of(path, row)}", start)
                start += len(frame)
            line += content.count(b"\n")
    if chosen is None:
        raise InputError(f"{path}: has no rows, expected interactions")


def _first_keys(lines: list[bytes], path: Path, first_line: int) -> list[str]:
    """The fields of the first object among some lines."""
    at = next(at for at, line in enumerate(lines) if line.strip())
    return list(_object(lines[at], f"{path} line {first_line + at}"))


def _parsed(content: bytes, chosen: dict[str, str], path: Path, first_line: int) -> pl.DataFrame:
    """The chosen fields of some lines as text; a line without an object is refused by number."""
    import polars as pl

    try:
        schema = dict.fromkeys(chosen.values(), pl.String)
        frame = pl.read_ndjson(io.BytesIO(content), schema=schema)
    except pl.exceptions.PolarsError as error:
        for line, text in enumerate(content.splitlines(), start=first_line):
            _object(text, f"{path} line {line}")
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
    return frame.select(pl.col(field).alias(meaning) for meaning, field in chosen.items())


def _object(text: bytes, where: str) -> dict[str, object]:
    """The object of one line, empty for a blank line; an error where it is something else."""
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{where}: is not a JSON object, expected one per line")
    return found


def _line_of(path: Path, wanted: int) -> int:
    """The line (from 1) of object `wanted` (from 0); slow, for errors."""
    with opened(path) as file:
        filled = (line for line, text in enumerate(file, start=1) if text.strip())
        return next((line for row, line in enumerate(filled) if row == wanted), wanted + 1)
