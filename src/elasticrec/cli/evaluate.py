"""`elasticrec evaluate` and `curve`: how well a model's files rank what was held out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from elasticrec.cli._output import print_json, print_table
from elasticrec.cli._settings import DEVICE, JSON, by_engine

if TYPE_CHECKING:
    from elasticrec.evaluation.choosing import TTest
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.model import Model


class Part(StrEnum):
    """Held-out parts."""

    test = "test"
    validation = "validation"


@by_engine
def evaluate(
    model: Annotated[Path, Argument(help="A finished model folder.")],
    budget: Annotated[
        str | None, Option("--budget", "-b", help="A size such as 5MB; by default all.")
    ] = None,
    part: Annotated[Part, Option(help="Which held-out part to rank.")] = Part.test,
    metric: Annotated[
        list[str] | None,
        Option(
            help="recall, ndcg, hit, mrr, map, coverage, gini, novelty or diversity, with a length "
            "of the list; may be repeated.",
            metavar="NAME@K",
        ),
    ] = None,
    compare: Annotated[
        Path | None, Option(help="Another model: paired t-test over the same users.")
    ] = None,
    per_user: Annotated[
        Path | None, Option(help="A CSV to write with every user's values.")
    ] = None,
    device: DEVICE = "auto",
    json: JSON = False,
) -> None:
    """Measure how well a file ranks held-out items, as a device ranks them.

    All items that a user does not have are ranked, for every user who has something held out.
    Beside the file stand the trained vectors without any list, and two baselines that are not
    trained: ItemKNN (items that the same users took) and popularity.

    \b
    Example:
      elasticrec evaluate MODEL --budget 2MB
      elasticrec evaluate MODEL --metric recall@50 --compare OTHER_MODEL
    """
    from elasticrec.evaluation.metrics import DEFAULT_METRICS
    from elasticrec.files import check_writable
    from elasticrec.model import Model

    if per_user is not None:
        check_writable(per_user)
    names, opened = tuple(metric or DEFAULT_METRICS), Model.open(model)
    found = _columns(opened, budget, part, names, device)
    tests = None
    if compare is not None:
        from elasticrec.evaluation.choosing import compare as compare_evaluations

        other = Model.open(compare)
        found["other"] = _columns(other, budget, part, names, device)["stream"]
        splits = opened.split, other.split
        tests = compare_evaluations(found["stream"], found["other"], splits, part.value)
    if per_user is not None:
        _write_per_user(per_user, opened, found["stream"])
    (_print_json if json else _print_table)(part, found, tests)


def _columns(
    model: Model, budget: str | None, part: Part, metrics: tuple[str, ...], device: str
) -> dict[str, Evaluation]:
    """Evaluations of the stream, of the trained vectors, and of baselines."""
    from elasticrec.evaluation.ranking import evaluate as evaluate_table
    from elasticrec.space import Budget
    from elasticrec.stream.curve import evaluate_stream

    size = None if budget is None else Budget.parse(budget)
    kept: dict[str, Any] = {"metrics": metrics, "device": device}
    stream = evaluate_stream(model, size, part=part.value, **kept)
    vectors = evaluate_table(model.table, model.split, part=part.value, **kept)
    return {"stream": stream, "vectors": vectors, **stream.baselines}


def _write_per_user(path: Path, model: Model, found: Evaluation) -> None:
    """Write one row per evaluated user: her original id and her values."""
    import polars as pl

    from elasticrec.files import written_whole

    ids = model.split.user_ids.take(found.users).values.tolist()
    with written_whole(path) as file:
        pl.DataFrame({"user": ids, **found.per_user}).write_csv(file)


def _print_json(part: Part, found: dict[str, Evaluation], tests: dict[str, TTest] | None) -> None:
    """Print the numbers as one JSON object."""
    from dataclasses import asdict
    from math import isfinite

    fields: dict[str, Any] = {"part": part.value, "n_users": found["stream"].n_users}
    fields |= {name: each.metrics for name, each in found.items()}
    if tests is not None:
        fields["t_tests"] = {name: asdict(test) for name, test in tests.items()}
        for test in fields["t_tests"].values():
            test["t"] = test["t"] if isfinite(test["t"]) else None  # JSON has no infinity
    print_json(fields)


def _print_table(part: Part, found: dict[str, Evaluation], tests: dict[str, TTest] | None) -> None:
    """Print the numbers as a table."""
    heads = [f"{part.value.capitalize()}, {found['stream'].n_users:,} users", *found]
    rows = []
    for name in found["stream"].metrics:
        rows.append([name, *(f"{each.metrics[name]:.4f}" for each in found.values())])
        if tests is not None and name in tests:
            rows[-1] += [f"{tests[name].difference:+.4f}", f"{tests[name].p:.2g}"]
    print_table(heads if tests is None else [*heads, "difference", "p"], rows)


def curve(
    model: Annotated[Path, Argument(help="A finished model folder.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="A PNG, SVG or PDF to write.")
    ] = None,
    json: JSON = False,
) -> None:
    """Show how good a file of each size is, as `elasticrec fit` measured it.

    \b
    Example:
      elasticrec curve MODEL -o curve.png
    """
    from elasticrec.files import check_writable
    from elasticrec.model import Model
    from elasticrec.stream.curve import table_of, whom

    found = Model.open(model).curve
    if output is not None:
        check_writable(output)
        from elasticrec.stream.picture import save_curve

        save_curve(found, output, title=str(model))
    if json:
        return print_json(found)
    heads, *rows = table_of(found)
    print_table(heads, rows, title=f"measured on {whom(found)}")
    if output is not None:
        print(f"{output} written")
