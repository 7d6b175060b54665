"""Reader of Yelp's review file: one JSON object per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import from_series
from elasticrec.errors import InputError
from elasticrec.files import opened, plain_name

if TYPE_CHECKING:
    import polars as pl

FIELDS = {"user": "user_id", "item": "business_id", "rating": "stars", "time": "date"}
"""Names of the fields in a review."""
CHUNK_BYTES = 32_000_000
"""Read at once; the file is several gigabytes, nearly all of it review texts."""


def read_yelp_reviews(
    path: Path | str, *, min_rating: float | None = None, name: str | None = None
) -> Interactions:
    """Reviewers, businesses and dates from `yelp_academic_dataset_review.json` (or `.gz`).

    Args:
        min_rating: reviews with fewer stars are left out; None keeps all.
    """
    import polars as pl

    path = Path(path)
    wanted = [meaning for meaning in FIELDS if meaning != "rating" or min_rating is not None]
    frames, first_line = [], 1
    for chunk in _chunks(path):
        frames.append(_parsed(chunk, wanted, path, first_line))
        first_line += chunk.count(b"\n")
    frame = pl.concat(frames, rechunk=False)
    series = {meaning: frame[FIELDS[meaning]] for meaning in wanted}
    return from_series(
        series,
        Columns(min_rating=min_rating),
        where=lambda row: f"{path} line {_line_of(path, row)}",
        name=name or plain_name(path),
        source=str(path),
    )


def _chunks(path: Path) -> Iterator[bytes]:
    """The content in pieces that end with whole lines."""
    rest = b""
    with opened(path) as file:
        while block := file.read(CHUNK_BYTES):
            lines, newline, tail = block.rpartition(b"\n")
            if newline:
                yield rest + lines + newline
            rest = tail if newline else rest + block
    yield rest


def _parsed(chunk: bytes, wanted: list[str], path: Path, first_line: int) -> pl.DataFrame:
    """The wanted fields of some lines; a line that is no review is refused by its number."""
    import polars as pl

    kinds = {"user": pl.String, "item": pl.String, "rating": pl.Float64, "time": pl.String}
    schema = {FIELDS[meaning]: kinds[meaning] for meaning in wanted}
    try:
        return pl.read_ndjson(io.BytesIO(chunk), schema=schema)
    except pl.exceptions.PolarsError as error:
        for line, text in enumerate(chunk.split(b"\n"), start=first_line):
            _check_review(text, wanted, f"{path} line {line}")
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None


def _check_review(text: bytes, wanted: list[str], where: str) -> None:
    """Raise an error unless the text is a review or a blank line."""
    if not text.strip():
        return
    try:
        review = json.loads(text)
    except ValueError:
        review = None
    if not isinstance(review, dict):
        raise InputError(f"{where}: is not a JSON object, expected one review per line")
    for meaning in wanted:
        value = review.get(FIELDS[meaning])
        if not isinstance(value, int | float if meaning == "rating" else str):
            raise InputError(
                f"{where}: {FIELDS[meaning]} is {value!r}, expected one in each review"
            )


def _line_of(path: Path, wanted: int) -> int:
    """The line (from 1) of review `wanted` (from 0)."""
    row = -1
    with opened(path) as file:
        for line, text in enumerate(file, start=1):
            row += bool(text.strip())
            if row == wanted:
                return line
    return wanted + 1
