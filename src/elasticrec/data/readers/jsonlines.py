"""Reader of JSON lines: one JSON object per interaction, as Yelp and Amazon publish reviews."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import from_series
from elasticrec.data.readers.tables import Choice
from elasticrec.errors import InputError
from elasticrec.files import opened, plain_name

if TYPE_CHECKING:
    import polars as pl

CHUNK_BYTES = 32_000_000
"""Read at once; such files are several gigabytes, nearly all of it review texts."""


def read_json_lines(
    path: Path | str, columns: Columns | None = None, *, name: str | None = None
) -> Interactions:
    """The interactions of a file with one JSON object per line, plain or `.gz`."""
    path, wanted = Path(path), columns or Columns()
    return from_series(
        read_objects(path, lambda found: wanted.choose(found, str(path))),
        wanted,
        where=lambda row: f"{path} line {_line_of(path, row)}",
        name=name or plain_name(path),
        source=str(path),
    )


def read_objects(path: Path, choice: Choice) -> dict[str, pl.Series]:
    """The chosen fields of a file with one JSON object per line, as text.

    The fields of the first object are the columns; a later object may have fewer.
    """
    import polars as pl

    frames: list[pl.DataFrame] = []
    first_line, chosen = 1, None
    with opened(path) as file:
        while lines := file.readlines(CHUNK_BYTES):
            if chosen is None and any(line.strip() for line in lines):
                keys = _first_keys(lines, path, first_line)
                chosen = {meaning: keys[at] for meaning, at in choice(keys).items()}
            if chosen is not None:
                frames.append(_parsed(lines, chosen, path, first_line))
            first_line += len(lines)
    if chosen is None:
        raise InputError(f"{path}: has no rows, expected interactions")
    frame = pl.concat(frames, rechunk=False)
    return {meaning: frame[meaning] for meaning in chosen}


def _first_keys(lines: list[bytes], path: Path, first_line: int) -> list[str]:
    """The fields of the first object among some lines."""
    at = next(at for at, line in enumerate(lines) if line.strip())
    return list(_object(lines[at], f"{path} line {first_line + at}"))


def _parsed(
    lines: list[bytes], chosen: dict[str, str], path: Path, first_line: int
) -> pl.DataFrame:
    """The chosen fields of some lines as text; a line without an object is refused by number."""
    import polars as pl

    try:
        schema = dict.fromkeys(chosen.values(), pl.String)
        frame = pl.read_ndjson(io.BytesIO(b"".join(lines)), schema=schema)
    except pl.exceptions.PolarsError as error:
        for line, text in enumerate(lines, start=first_line):
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
