"""`elasticrec evaluate`: how well a model ranks what was held out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticrec.data.split import Split
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.evaluation.significance import TTest


class Part(StrEnum):
    """What was held out."""

    test = "test"
    validation = "validation"


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder written by `elasticrec train`.")],
    part: Annotated[Part, typer.Option(help="Which held-out part to rank.")] = Part.test,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="recall@K, ndcg@K, both@K or hit@K; may be repeated.", metavar="NAME@K"),
    ] = None,
    history: Annotated[
        bool,
        typer.Option("--history", help="Rank from each person's train items, not her own vector."),
    ] = False,
    compare: Annotated[
        Path | None, typer.Option(help="Another model: paired t-test over the same users.")
    ] = None,
    per_user: Annotated[
        Path | None, typer.Option(help="A CSV to write with every user's values.")
    ] = None,
    device: Annotated[Device, typer.Option(help="Where to compute.")] = Device.auto,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Rank all unseen items for every user, exactly, and measure where held-out items stand.

    \b
    Example:
      elasticrec evaluate MODEL
      elasticrec evaluate MODEL --metric recall@50 --metric ndcg@50 --compare OTHER_MODEL
    """
    from elasticrec.files import check_writable
    from elasticrec.evaluation.comparison import compare as compare_evaluations

    if per_user is not None:
        check_writable(per_user)
    split, found = _evaluated(model, part, metric, history, device)
    other, tests = None, None
    if compare is not None:
        other_split, other = _evaluated(compare, part, metric, history, device)
        tests = compare_evaluations(found, other, (split, other_split), part.value)
    if per_user is not None:
        _write_per_user(per_user, split, found)
    show = _print_json if json else _print_table
    show(part, found, other, tests)


def _evaluated(
    folder: Path, part: Part, metric: list[str] | None, history: bool, device: Device
) -> tuple[Split, Evaluation]:
    """A model's split, and how well the model ranks what the split holds out."""
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.evaluation.metrics import DEFAULT_METRICS
    from elasticrec.evaluation.ranking import evaluate as evaluate_table

    opened = ModelFolder.open(folder)
    split = opened.split()
    found = evaluate_table(
        opened.table(),
        split,
        part=part.value,
        metrics=metric or DEFAULT_METRICS,
        histories=split.train if history else None,
        device=device.value,
        keep_per_user=True,
    )
    return split, found


def _write_per_user(path: Path, split: Split, found: Evaluation) -> None:
    """Write one row per evaluated user: her original id and her values."""
    from elasticrec.cli._csv import write_csv

    values = found.per_user or {}
    ids = split.user_ids.take(found.users).values.tolist()
    columns = [column.tolist() for column in values.values()]
    write_csv(path, ["user", *values], zip(ids, *columns, strict=True))


def _print_json(
    part: Part, found: Evaluation, other: Evaluation | None, tests: dict[str, TTest] | None
) -> None:
    """Print the numbers as one JSON object."""
    import json
    from dataclasses import asdict
    from math import isfinite

    fields: dict[str, Any] = {
        "part": part.value,
        "metrics": found.metrics,
        "coverage": found.coverage,
        "n_users": found.n_users,
    }
    if other is not None and tests is not None:
        fields["other"] = {"metrics": other.metrics, "coverage": other.coverage}
        fields["t_tests"] = {name: asdict(test) for name, test in tests.items()}
        for test in fields["t_tests"].values():
            test["t"] = test["t"] if isfinite(test["t"]) else None  # JSON has no infinity
    print(json.dumps(fields))


def _print_table(
    part: Part, found: Evaluation, other: Evaluation | None, tests: dict[str, TTest] | None
) -> None:
    """Print the numbers as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(f"{part.value.capitalize()}, {found.n_users:,} users", box=None)
    headings = ["model"] if other is None else ["model", "other", "difference", "t", "p"]
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, value in found.metrics.items():
        cells = [f"{value:.4f}"]
        if other is not None and tests is not None:
            test = tests[name]
            cells += [f"{other.metrics[name]:.4f}", f"{test.difference:+.4f}"]
            cells += [f"{test.t:.2f}", f"{test.p:.2g}"]
        table.add_row(name, *cells)
    coverage = [found.coverage] if other is None else [found.coverage, other.coverage]
    table.add_row("coverage", *(f"{share:.4f}" for share in coverage))
    Console().print(table)
