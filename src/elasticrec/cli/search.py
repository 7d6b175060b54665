"""`elasticrec search`: the best composition for each budget, beside the controls."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticrec.search.answers import Answer
    from elasticrec.search.searcher import Searcher
    from elasticrec.space.budget import Budget


class Part(StrEnum):
    """What was held out."""

    test = "test"
    validation = "validation"


def search(
    model: Annotated[Path, typer.Argument(help="A model folder with an estimator.")],
    budget: Annotated[
        list[str],
        typer.Option(help="5MB, 512KB, 1MiB or plain bytes; may be repeated.", metavar="SIZE"),
    ],
    preset: Annotated[
        str | None, typer.Option(help="Settings of the search; by default those of the model.")
    ] = None,
    accounting: Annotated[
        str | None,
        typer.Option(
            help="file: every byte of a bundle; paper: bytes of vectors only. By default, and "
            "necessarily, what the estimator was made for."
        ),
    ] = None,
    population: Annotated[int | None, typer.Option(help="P: candidates kept alive.")] = None,
    tournament: Annotated[int | None, typer.Option(help="S: candidates per tournament.")] = None,
    rounds: Annotated[int | None, typer.Option(help="C: rounds of breeding.")] = None,
    children: Annotated[int | None, typer.Option(help="Children per round.")] = None,
    refine: Annotated[
        int | None, typer.Option(help="Re-rank so many of the best by real evaluation.")
    ] = None,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured",
            help="Rank every candidate by real evaluation, on thousands of users, not by "
            "estimates: a minute longer, and some gigabytes of memory.",
        ),
    ] = False,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Measure what was found, on --part.")
    ] = False,
    part: Annotated[Part, typer.Option(help="The part for --evaluate.")] = Part.test,
    greedy_measured: Annotated[
        bool, typer.Option("--greedy-measured", help="Also climb by real evaluation: slow.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The composition to write; with several budgets each adds its size to the name.",
        ),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="JSON lines to write: every candidate looked at.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to evaluate: auto, cpu or cuda.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Find the best composition within each budget, in milliseconds and without training.

    \b
    Example:
      elasticrec search MODEL --budget 5MB --budget 10MB -o composition.json
      elasticrec search MODEL --budget 5MB --refine 10 --evaluate
    """
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.files import check_writable
    from elasticrec.presets import preset as named
    from elasticrec.search.answers import ALWAYS, answer_budgets
    from elasticrec.search.measuring import held_out_quality, quality_to_search_by
    from elasticrec.search.searcher import Searcher
    from elasticrec.space.budget import Budget

    budgets = sorted({Budget.parse(text) for text in budget})
    for path in (output, trace):
        if path is not None:
            check_writable(path)
    searcher = Searcher(ModelFolder.open(model), accounting=accounting)
    known = "paper-amazon-book" if searcher.space.as_printed else "default"
    given: dict[str, Any] = {"population": population, "tournament": tournament, "rounds": rounds}
    given |= {"children": children, "refine": refine}
    config = replace(
        named(preset or known).search,
        **{name: value for name, value in given.items() if value is not None},
    )
    for each in budgets:
        searcher.candidates(each)  # refuses one that is too small before any long work
    answers = answer_budgets(
        searcher,
        budgets,
        config,
        seed=seed,
        controls=(*ALWAYS, "greedy-measured") if greedy_measured else ALWAYS,
        evaluate=quality_to_search_by(
            searcher, config, measured=measured, many=greedy_measured, device=device
        ),
        report=held_out_quality(searcher, part.value, device=device) if evaluate else None,
        measured=measured,
    )
    settings = {"search": asdict(config), "seed": seed}
    _write(searcher, answers, settings, output, trace)
    _print_json(answers) if json else _print_tables(searcher, answers, part if evaluate else None)


def _write(
    searcher: Searcher,
    answers: list[Answer],
    settings: dict[str, Any],
    output: Path | None,
    trace: Path | None,
) -> None:
    """Save the compositions and traces that were asked for."""
    several = len(answers) > 1
    for answer in answers:
        found = answer.searched
        if output is not None:
            found.composition.save(
                _named(output, answer.budget, several),
                model_id=searcher.folder.model_id,
                about=searcher.about(found, answer.budget, **settings),
            )
        if trace is not None:
            found.trace.save(_named(trace, answer.budget, several))


def _named(path: Path, budget: Budget, several: bool) -> Path:
    """The path, with the budget before its suffix where several share it."""
    size = str(budget).replace(" ", "")
    return path.with_name(f"{path.stem}-{size}{path.suffix}") if several else path


def _print_tables(searcher: Searcher, answers: list[Answer], part: Part | None) -> None:
    """Print one table per budget: the search first, the controls below."""
    from rich.console import Console
    from rich.table import Table

    from elasticrec.space.budget import Budget

    console = Console()
    for answer in answers:
        title = f"budget {answer.budget}: {searcher.metric}, {searcher.person}"
        names = ["method", "size", "blocks", "estimated", "time"]
        if part is not None:
            title += f", measured on {part.value}"
            names.insert(4, "measured")
        table = Table(title=title, title_justify="left", pad_edge=False)
        for name in names:
            table.add_column(name, justify="left" if name == "method" else "right")
        for found in (answer.searched, *answer.controls):
            cells = [found.method, str(Budget(found.n_bytes)), str(found.composition.kept.sum())]
            cells.append(f"{found.estimate:.5f}")
            if part is not None:
                cells.append(f"{found.measured:.5f}")
            table.add_row(*cells, f"{found.seconds * 1e3:.0f} ms")
        console.print(table)
        if answer.searched.note:
            console.print(answer.searched.note, highlight=False)


def _print_json(answers: list[Answer]) -> None:
    """Print the numbers as one JSON object."""
    import json

    listed: list[dict[str, Any]] = []
    for answer in answers:
        found = [
            {
                "method": each.method,
                "n_bytes": each.n_bytes,
                "blocks": int(each.composition.kept.sum()),
                "estimate": each.estimate,
                "measured": each.measured,
                "seconds": each.seconds,
                "note": each.note,
            }
            for each in (answer.searched, *answer.controls)
        ]
        listed.append({"budget_bytes": answer.budget.n_bytes, "found": found})
    print(json.dumps({"budgets": listed}))
