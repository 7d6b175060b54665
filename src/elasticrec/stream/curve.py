"""The curve: measured quality of a stream's prefixes, by size; and the file of a budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from elasticrec.data.split import Split
from elasticrec.evaluation.baselines import BaselineConfig, evaluate_baselines
from elasticrec.evaluation.choosing import paired_t_test
from elasticrec.evaluation.measure import Person, measure
from elasticrec.evaluation.metrics import DEFAULT_METRICS, parse_metrics
from elasticrec.evaluation.ranking import Evaluation, Part, evaluate, holders, queries_of
from elasticrec.model import Model
from elasticrec.ordering.search import OrderSearchConfig, some_persons
from elasticrec.settings import Count, Positive, Settings
from elasticrec.space import Budget, Composition
from elasticrec.stream.chunk import Kind, StreamIndex, copy_prefix, read_index
from elasticrec.stream.writer import write_stream_of

LINES = {"full": "trained vectors", "itemknn": "ItemKNN", "popularity": "popularity"}
"""Beside the sizes of a curve stand the vectors that it was made from, and baselines."""


@dataclass(frozen=True, repr=False)
class CurveConfig(Settings):
    """On whom the curve is measured, and at which sizes."""

    persons: Count = 5_000
    """Validation persons, at most; those who chose the order are left out."""
    fewest: Count = 500
    """With fewer than these left, those who chose are measured as well."""
    others: tuple[str, ...] = ("recall@20", "ndcg@50")
    """Metrics beside the one that chose the order."""
    sizes: tuple[Positive, ...] = (1, 1.5, 2, 3, 5, 7)
    """Measured sizes are these, times powers of ten."""
    baselines: BaselineConfig = field(default_factory=BaselineConfig)
    """What stands beside the curve."""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_metrics(self.others)


def curve_of(
    model: Model,
    config: CurveConfig,
    choosing: OrderSearchConfig,
    *,
    device: str = "auto",
    report: Callable[[str, str], None] = lambda *_: None,
) -> dict[str, Any]:
    """Metrics by size, of the full model and of baselines, on persons who chose nothing."""
    split, metric = model.split, choosing.metric
    drawn = {"n": config.persons, "fewest": config.fewest, "seed": choosing.seed}
    drawn |= {"chose": choosing.n_persons, "fewest_chose": choosing.fewest_persons}
    users = curve_persons(split, **drawn)
    metrics = (metric, *config.others)
    index = read_index(model.stream_path)
    points = []
    on: dict[str, Any] = {"users": users, "metrics": metrics, "device": device}
    on["part"] = "validation"
    for n_bytes in curve_sizes(index, config.sizes):
        found = evaluate_composition(model, prefix_composition(index, n_bytes), **on)
        point = {"bytes": n_bytes, "bytes_per_item": round(n_bytes / split.n_items, 2)}
        points.append({**point, **_rounded(found.metrics)})
        report("measure", f"{n_bytes:,} bytes: {metric} {found.metrics[metric]:.4f}")
    asked = queries_of(split, "validation", users)
    full = evaluate(model.table, split, **on)
    beside = evaluate_baselines(asked, metrics, config.baselines)
    strongest = max(beside, key=lambda name: beside[name].metrics[metric])
    return {
        "part": "validation",
        "users": len(asked.users),
        "drawn": drawn,
        "metric": metric,
        "person": person_of(model),
        "points": points,
        "full": _rounded(full.metrics),
        **{name: _rounded(each.metrics) for name, each in beside.items()},
        "beside": {"baseline": strongest, "p": _chance(found, beside[strongest], metric)},
    }


def whom(curve: dict[str, Any]) -> str:
    """On whom a curve was measured, and when if not on what is shipped."""
    when = f", {curve['measured']}" if "measured" in curve else ""
    return f"{curve['users']:,} {curve['part']} users{when}"


def table_of(curve: dict[str, Any]) -> list[list[str]]:
    """A curve as rows of text: heads, then a line per size, then what stands beside it."""
    metrics = [name for name in curve["points"][0] if "@" in name]
    lines = [(f"{point['bytes']:,} bytes", point) for point in curve["points"]]
    lines += [(label, curve[name]) for name, label in LINES.items()]
    return [["file", *metrics], *([name, *(f"{p[m]:.4f}" for m in metrics)] for name, p in lines)]


def curve_persons(
    split: Split, n: int, fewest: int, chose: int, fewest_chose: int, seed: int
) -> np.ndarray:
    """At most n persons who chose nothing; where too few are left, those who chose as well."""
    able = holders(split)
    others = np.setdiff1d(able, some_persons(split, chose, fewest_chose, seed))
    pool = others if len(others) >= min(n, fewest) else able
    if len(pool) > n:
        pool = np.sort(np.random.default_rng([seed, 8]).choice(pool, n, replace=False))
    return pool


def curve_sizes(index: StreamIndex, sizes: tuple[float, ...]) -> list[int]:
    """Ends of prefixes at round sizes, from the smallest useful one to the whole stream."""
    least, whole = index.head.least, index.ends[-1]
    wanted = [int(size * 10**power) for power in range(3, 13) for size in sizes]
    ends = [index.longest_prefix(size) for size in wanted if least <= size < whole]
    return sorted({index.longest_prefix(least), *ends, whole})


def prefix_composition(index: StreamIndex, n_bytes: int) -> Composition:
    """The composition of the first bytes of a stream."""
    have = np.zeros((2, index.head.n_items), dtype=np.int64)
    for header, end in zip(index.headers, index.ends, strict=True):
        if end > n_bytes:
            break
        if header.kind in (Kind.CODES, Kind.NEIGHBOURS):
            kind = int(header.kind == Kind.NEIGHBOURS)
            have[kind, header.first : header.first + header.count] = header.which + 1
    return Composition(have[0], have[1])


def _chance(whole: Evaluation, other: Evaluation, metric: str) -> float:
    """Probability that chance alone sets two evaluations of the same users so far apart."""
    ours, theirs = whole.per_user[metric], other.per_user[metric]
    return paired_t_test(ours, theirs).p if whole.n_users > 1 else 1.0


def _rounded(metrics: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in metrics.items()}


def evaluate_stream(
    model: Model,
    budget: Budget | None = None,
    *,
    part: Part = "test",
    metrics: Iterable[str] = DEFAULT_METRICS,
    device: str = "auto",
) -> Evaluation:
    """Evaluate the file of a budget, or the whole stream, on the held-out items of everyone.

    Baselines of the same users stand beside it.
    """
    index = read_index(model.stream_path)
    n_bytes = index.ends[-1] if budget is None else index.longest_prefix(budget.n_bytes)
    composition = prefix_composition(index, n_bytes)
    names = tuple(map(str, parse_metrics(metrics)))
    found = evaluate_composition(model, composition, part=part, metrics=names, device=device)
    return replace(found, baselines=evaluate_baselines(queries_of(model.split, part), names))


def evaluate_composition(model: Model, composition: Composition, **asked: Any) -> Evaluation:
    """Evaluate any composition of a model; `asked` are part, users, metrics and device."""
    return measure(
        model.codes, model.neighbours, model.weights, composition, model.split,
        person=person_of(model), vectors=model.server_vectors(), **asked,
    )  # fmt: skip


def person_of(model: Model) -> Person:
    """Kind of person of a model: by vector where it has users."""
    return "history" if model.table.users is None else "vector"


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
    dense, held = read_index(model.stream_path), _held(read_index(output))[-1]
    alike = dense.ends[bisect_right(_held(dense), held) - 1]
    return {"bytes": n_bytes, "quality": _from_curve(model, alike)}


def _held(index: StreamIndex) -> list[int]:
    """Bytes of codes and slots of neighbours that items have after each chunk."""
    kinds = (Kind.CODES, Kind.NEIGHBOURS)
    return [*accumulate(x.count if x.kind in kinds else 0 for x in index.headers)]


def _from_curve(model: Model, n_bytes: int) -> str | None:
    """The measured quality of the largest point that is not larger."""
    curve = model.curve if model.has("curve") else {"points": []}
    known = [point for point in curve["points"] if point["bytes"] <= n_bytes]
    if not known:
        return None
    metric, point = curve["metric"], known[-1]
    return f"{metric} {point[metric]:.4f} measured at {point['bytes']:,} bytes on {whom(curve)}"
