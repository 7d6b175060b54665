"""The stream of a model, the file of a budget, and its measured quality."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elasticrec.files import written_whole
from elasticrec.model import Model
from elasticrec.ordering.order import Order
from elasticrec.space import Budget
from elasticrec.stream.chunk import Kind
from elasticrec.stream.curve import whom
from elasticrec.stream.ids import stored_ids
from elasticrec.stream.index import StreamIndex, copy_prefix, read_index
from elasticrec.stream.writer import Facts, stream_parts


def write_stream_of(
    model: Model,
    path: Path,
    *,
    along: Order | None = None,
    id_kind: str = "dense",
    sequence: int | None = None,
) -> None:
    """Write a model's stream, along its own order or another one.

    Args:
        sequence: the stream's number, by which devices tell older ones; by default the model's.
    """
    trained = datetime.fromisoformat(model.about["trained"]).replace(tzinfo=UTC)
    climbs = model.order if along is None else along
    facts = Facts(
        model_id=model.id, least_climbs=climbs.least, trained=int(trained.timestamp()),
        sequence=model.about.get("sequence", 0) if sequence is None else sequence,
        vector_person=model.table.users is not None, support=model.neighbours.min_support,
        catalogue=model.hash_of("catalogue"),
    )  # fmt: skip
    ids = None if id_kind == "dense" else stored_ids(model.split.item_ids, id_kind)
    parts = model.codes, model.neighbours, model.weights, climbs
    with written_whole(path) as file:
        file.writelines(stream_parts(*parts, facts=facts, ids=ids))


def customize_model(
    model: Model, budget: Budget, output: Path | str, *, id_kind: str = "dense"
) -> dict[str, Any]:
    """Write the longest prefix of a model's stream within a budget; its bytes and quality.

    Its quality is that of the curve's nearest smaller point. A file with ids ranks as the file
    with dense ids that holds the same codes.
    """
    if id_kind == "dense":
        n_bytes = copy_prefix(model.stream_path, budget.n_bytes, output)
        return {"bytes": n_bytes, "quality": _from_curve(model, n_bytes)}
    with TemporaryDirectory(dir=Path(output).parent) as folder:
        whole = Path(folder) / "stream.elastic"
        write_stream_of(model, whole, id_kind=id_kind)
        n_bytes = copy_prefix(whole, budget.n_bytes, output)
    return {"bytes": n_bytes, "quality": _from_curve(model, _with_dense_ids(model, output))}


def _with_dense_ids(model: Model, path: Path | str) -> int:
    """Bytes of the prefix of a model's stream that holds no more codes than a file with ids."""
    dense, held = read_index(model.stream_path), _held(read_index(path))[-1]
    return dense.ends[bisect_right(_held(dense), held) - 1]


def _held(index: StreamIndex) -> list[int]:
    """Bytes of codes and slots of neighbours that items have after each chunk."""
    kinds = (Kind.CODES, Kind.NEIGHBOURS)
    return [*accumulate(x.count if x.kind in kinds else 0 for x in index.headers)]


def _from_curve(model: Model, n_bytes: int) -> str | None:
    """The measured quality of the largest point that is not larger."""
    if not model.has("curve"):
        return None
    curve = model.curve
    known = [point for point in curve["points"] if point["bytes"] <= n_bytes]
    if not known:
        return None
    metric, point = curve["metric"], known[-1]
    return f"{metric} {point[metric]:.4f} measured at {point['bytes']:,} bytes on {whom(curve)}"
