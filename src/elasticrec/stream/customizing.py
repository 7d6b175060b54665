"""The file of a budget, and its measured quality."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from elasticrec.stream.index import copy_prefix

if TYPE_CHECKING:
    from elasticrec.model import Model
    from elasticrec.space.budget import Budget


def customize_model(
    model: Model, budget: Budget, output: Path | str, *, id_kind: str = "dense"
) -> dict[str, Any]:
    """Write the longest prefix of a model's stream within a budget; its bytes and quality.

    The quality of a file with dense ids is that of the curve's nearest smaller point. A file with
    other ids holds fewer codes, so it is measured.

    Args:
        id_kind: `dense`, `u32`, `u64` or `text`.
    """
    if id_kind == "dense":
        n_bytes = copy_prefix(model.stream_path, budget.n_bytes, output)
        return {"bytes": n_bytes, "quality": _from_curve(model, n_bytes)}
    from elasticrec.pipeline import write_stream_of

    with TemporaryDirectory(dir=Path(output).parent) as folder:
        whole = Path(folder) / "stream.elastic"
        write_stream_of(model, whole, id_kind=id_kind)
        n_bytes = copy_prefix(whole, budget.n_bytes, output)
    return {"bytes": n_bytes, "quality": _measured(model, Path(output), n_bytes)}


def _from_curve(model: Model, n_bytes: int) -> str | None:
    """The measured quality of the largest point that is not larger."""
    if not model.has("curve"):
        return None
    curve = model.curve
    known = [point for point in curve["points"] if point["bytes"] <= n_bytes]
    if not known:
        return None
    metric, point = curve["metric"], known[-1]
    return (
        f"{metric} {point[metric]:.4f} measured at {point['bytes']:,} bytes on "
        f"{curve['users']:,} {curve['part']} users"
    )


def _measured(model: Model, path: Path, n_bytes: int) -> str:
    """The quality of a file, measured on the persons of the curve."""
    from elasticrec.evaluation.measure import measure
    from elasticrec.ordering.search import some_persons
    from elasticrec.stream.curve import prefix_composition
    from elasticrec.stream.index import read_index

    found = measure(
        model.codes,
        model.neighbours,
        model.weights,
        prefix_composition(read_index(path), n_bytes),
        model.split,
        users=some_persons(model.split, 5_000, 0),
        person="history" if model.table.users is None else "vector",
        vectors=model.server_vectors(),
    )
    value = found.metrics["recall@50"]
    return f"recall@50 {value:.4f} measured on {found.n_users:,} validation users"
