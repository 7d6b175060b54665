"""`elasticrec estimate`: measure compositions of a model, and fit what predicts their quality."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.rule.estimator.building import Built


def estimate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    samples: Annotated[int | None, typer.Option(help="Compositions to fit on.")] = None,
    users: Annotated[int | None, typer.Option(help="Validation users to measure on.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What weights and files are chosen by: recall@K, ndcg@K, both@K (their mean) or "
            "hit@K."
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="fm (the paper's) or dnn.")] = None,
    preset: Annotated[
        str, typer.Option(help="default, demo, paper-amazon-book or paper-yelp.")
    ] = "default",
    accounting: Annotated[
        str | None,
        typer.Option(
            help="file: depths and neighbours, every byte counted; paper: whole f32 blocks. By "
            "default file, unless the model's settings are the paper's."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Whom to measure for: vector+history or history; by default whom the model knows."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes or threads that measure.", min=1)] = 2,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away the measurements found in the folder.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Fit the estimator that lets a search weigh compositions without evaluating them.

    The model's items are coded first, unless they are: planes, neighbours, and the weights that
    mix them. Measurements go to MODEL/estimator.jsonl; a run that was cut off goes on from there.

    \b
    Example:
      elasticrec estimate MODEL
      elasticrec estimate MODEL --samples 2000 --metric ndcg@50
    """
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.cli._progress import counting_bar
    from elasticrec.rule.estimator.building import LEDGER
    from elasticrec.rule.estimator.ledger import check_metric
    from elasticrec.presets import preset as named
    from elasticrec.search.estimating import estimate_model

    chosen = named(preset)
    given = {"n_samples": samples, "n_users": users, "metric": metric, "seed": seed}
    measuring = replace(chosen.samples, **_present(given))
    fitting = replace(chosen.estimator, **_present({"kind": kind, "seed": seed}))
    folder = ModelFolder.open(model)
    if not restart:  # weights by another metric would part the folder from its estimator
        check_metric(folder.root / LEDGER, measuring.metric)
    counted = _coded(folder, accounting, device, measuring.metric)
    if restart:
        (folder.root / LEDGER).unlink(missing_ok=True)
    with counting_bar("measuring") as progress:
        built = estimate_model(
            folder, measuring, fitting,
            accounting=counted, person=person, workers=workers, device=device, progress=progress,
        )  # fmt: skip
    _print_json(built) if json else _print_table(built, measuring.metric)


def _coded(folder: ModelFolder, accounting: str | None, device: str, metric: str) -> str:
    """How bytes are counted, after the model's items were coded where that is by files."""
    from elasticrec.cli._progress import telling
    from elasticrec.errors import InputError
    from elasticrec.space.regroup import space_of
    from elasticrec.storing import StoringConfig, can_be_stored, store

    if accounting not in (None, "file", "paper"):
        raise InputError(f"accounting {accounting!r}, expected file or paper")
    if accounting is None:
        usable = can_be_stored(folder.table()) and not space_of(folder).free
        accounting = "file" if usable else "paper"
    if accounting == "file":
        with telling() as tell:
            config = StoringConfig(metric=metric)
            store(folder, config, device=device, tell=lambda part: tell(f"making the {part}"))
    return accounting


def _present(given: dict[str, Any]) -> dict[str, Any]:
    """What was given on the command line."""
    return {name: value for name, value in given.items() if value is not None}


def _print_table(built: Built, metric: str) -> None:
    """Print the two-fold check, and how well compositions of one budget are ordered."""
    from rich.console import Console
    from rich.table import Table

    about, chosen = built.estimator.about, built.fitted.chosen
    table = Table(
        title=f"estimated against measured {metric}", title_justify="left", pad_edge=False
    )
    for name in ("compositions", "number", "RMSE", "Spearman"):
        table.add_column(name, justify="left" if name == "compositions" else "right")
    n = about["n_samples"]
    table.add_row("two-fold, all sizes", f"{n:,}", f"{chosen.rmse:.5f}", f"{chosen.spearman:.4f}")
    for budget, found in built.within.items():
        cells = f"held out, {budget}", f"{found.n:,}", f"{found.rmse:.5f}", f"{found.spearman:.4f}"
        table.add_row(*cells)
    console = Console()
    console.print(table)
    settings = chosen.settings
    console.print(f"{about['accounting']} accounting, persons known by {about['person']}")
    console.print(
        f"{built.estimator.kind}, d0 {settings.width}, learning rate {settings.learning_rate}, "
        f"L2 {settings.l2}; measured in {built.measuring_seconds:.1f} s, "
        f"fitted in {built.fitting_seconds:.1f} s",
        highlight=False,
    )


def _print_json(built: Built) -> None:
    """Print the numbers as one JSON object."""
    import json
    from dataclasses import asdict

    print(
        json.dumps(
            {
                "kind": built.estimator.kind,
                "trials": [asdict(trial) for trial in built.fitted.trials],
                "chosen": asdict(built.fitted.chosen),
                "within": {name: asdict(found) for name, found in built.within.items()},
                "measuring_seconds": built.measuring_seconds,
                "fitting_seconds": built.fitting_seconds,
            }
        )
    )
