"""`elasticrec curve`: size against measured quality, as a table and a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticrec.search.curve import Point


class Part(StrEnum):
    """What was held out."""

    test = "test"
    validation = "validation"


def curve(
    model: Annotated[Path, typer.Argument(help="A model folder with an estimator.")],
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="A size such as 5MB; may be repeated. By default eight, up to the full size.",
            metavar="SIZE",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Such as recall@50, the default; may be repeated."),
    ] = None,
    part: Annotated[Part, typer.Option(help="The part to measure on.")] = Part.test,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A PNG to write: the first metric.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="Where to measure: auto, cpu or cuda.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Show what a file of each size is worth, measured the way a device ranks.

    Each budget is searched as `elasticrec customize` does, without ids in the file. Persons are
    known by the vector that the server has of them and their history, or by history alone. Coverage
    is the share of the catalogue that stands in someone's list.

    \b
    Example:
      elasticrec curve MODEL -o curve.png
      elasticrec curve MODEL --budget 1MB --budget 5MB --metric recall@20 --metric ndcg@20
    """
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.cli._progress import counting_bar
    from elasticrec.files import check_writable
    from elasticrec.evaluation.metrics import parse_metrics
    from elasticrec.presets import preset
    from elasticrec.search.curve import curve_budgets, measure_curve, save_curve
    from elasticrec.search.searcher import Searcher
    from elasticrec.space.budget import Budget

    names = [str(metric) for metric in parse_metrics(metrics or ["recall@50"])]
    if output is not None:
        check_writable(output)
    asked = [Budget.parse(text) for text in budget or []]
    searcher = Searcher(ModelFolder.open(model), accounting="file")
    budgets = asked or list(curve_budgets(searcher))
    for each in budgets:
        searcher.candidates(each)  # refuses one that is too small before any long work
    by_vector = searcher.folder.table().users is not None
    with counting_bar("measuring") as progress:
        points = measure_curve(
            searcher, budgets, preset("default").search,
            persons=("vector+history", "history") if by_vector else ("history",),
            part=part.value, metrics=names, seed=seed, device=device, progress=progress,
        )  # fmt: skip
    _print_json(points) if json else _print_table(points, names, part.value)
    if output is not None:
        title = f"{searcher.folder.split().name}, {part.value}"
        save_curve(points, names[0], output, title=title)
        if not json:
            print(f"{output} written")


def _print_table(points: list[Point], names: list[str], part: str) -> None:
    """Print a line per size and kind of person."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"measured on {part}", title_justify="left", pad_edge=False)
    for name in ("budget", "file", "person", *names, "coverage"):
        table.add_column(name, justify="left" if name == "person" else "right")
    for point in points:
        first = [str(point.budget), f"{point.file_bytes:,}"]
        for person, found in point.measured.items():
            values = [f"{found.metrics[name]:.4f}" for name in names]
            table.add_row(*first, person, *values, f"{found.coverage:.1%}")
            first = ["", ""]
    Console().print(table)


def _print_json(points: list[Point]) -> None:
    """Print the numbers as one JSON object."""
    import json

    listed: list[dict[str, Any]] = [
        {
            "budget_bytes": point.budget.n_bytes,
            "file_bytes": point.file_bytes,
            "estimate": point.found.estimate,
            "measured": {
                person: {**found.metrics, "coverage": found.coverage}
                for person, found in point.measured.items()
            },
        }
        for point in points
    ]
    print(json.dumps({"points": listed}))
