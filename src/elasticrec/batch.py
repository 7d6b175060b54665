"""Lists for millions of users as one file, by chunks that a run which was cut off finds again."""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.engine import map_shards
from elasticrec.errors import InputError
from elasticrec.files import save_bytes, writing, written_whole
from elasticrec.recommending import Ranker, rows_of

if TYPE_CHECKING:
    from elasticrec.data.histories import Id
    from elasticrec.data.ids import Ids

KINDS = (".csv", ".jsonl", ".parquet")
"""Ends of names, which say what is written."""
CHUNK = 4096
"""Users of a chunk."""


def write_lists(
    ranker: Ranker,
    users: Iterable[Id],
    out: Path,
    *,
    k: int = 20,
    exclude: Iterable[Id] = (),
    diversity: float = 0.0,
) -> int:
    """Write a row for each of the k best items of every user; the number of users.

    Chunks go by the engine in use, and wait beside the file until all are there.
    """
    if out.suffix not in KINDS:
        raise InputError(f"{out}: expected a name that ends in {', '.join(KINDS)}")
    users_known, items_known = ranker.split.user_ids, ranker.split.item_ids
    names = users_known.take(ranker.histories.users(users)).values.tolist()
    barred = items_known.take(ranker.histories.items(exclude, "excluded")).values.tolist()
    asked = {"k": k, "exclude": barred, "diversity": diversity}
    place = out.with_name(f"{out.name}.parts")
    starts = range(0, len(names), CHUNK)
    parts = {start: place / f"{start:012}{out.suffix}" for start in starts}
    what = [ranker.model.hash_of("stream"), ranker.n_bytes, asked, CHUNK, names]
    digest = hashlib.sha256(repr(what).encode()).hexdigest()
    with writing(place):
        if not (place / digest).exists():  # new, or of another run
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            (place / digest).touch()
        missing = [start for start in starts if not parts[start].exists()]
        chunks = map_shards(_chunk, missing, (ranker, names, asked, out.suffix))
        for start, content in zip(missing, chunks, strict=True):
            save_bytes(parts[start], content)
    with written_whole(out) as file:
        if out.suffix == ".parquet":
            import polars as pl

            pl.scan_parquet([*parts.values()]).sink_parquet(file)
        else:
            file.writelines(part.read_bytes() for part in parts.values())
    shutil.rmtree(place)
    return len(names)


def _chunk(shared: tuple[Ranker, list[Id], dict[str, Any], str], start: int) -> bytes:
    """The rows of some users, as they stand in the file."""
    import polars as pl

    ranker, names, asked, kind = shared
    lists = ranker.recommend_many(names[start : start + CHUNK], **asked)
    rows = [(*row, float(f"{score:.6g}"), title or "") for *row, score, title in rows_of(lists)]
    user, item = _type(ranker.split.user_ids), _type(ranker.split.item_ids)
    schema = {"user": user, "place": int, "item": item, "score": float, "title": str}
    frame, file = pl.DataFrame(rows, schema=schema, orient="row"), io.BytesIO()
    if kind == ".csv":
        frame.write_csv(file, include_header=not start)
    elif kind == ".jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_parquet(file)
    return file.getvalue()


def _type(ids: Ids) -> type:
    return int if ids.values.dtype.kind in "iu" else str
