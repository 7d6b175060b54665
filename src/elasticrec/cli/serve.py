"""`elasticrec serve`: answer download requests over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""The products of a search are small: threads would only wait for each other."""


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(help="Model folders, or folders of model folders.", metavar="MODEL..."),
    ] = None,
    shelf: Annotated[
        Path | None,
        typer.Option(
            help="Where finished bundles are kept; by default `shelf`, and with --demo alone a "
            "folder in your cache.",
            metavar="DIR",
        ),
    ] = None,
    shelf_size: Annotated[
        str, typer.Option(help="What the shelf may hold.", metavar="SIZE")
    ] = "4GB",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(help="Processes, which share the shelf.")] = 1,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="A size to which budgets are rounded down; may be repeated. "
            "By default 20 sizes per decade.",
            metavar="SIZE",
        ),
    ] = None,
    ids: Annotated[str, typer.Option(help="Ids in bundles: none or original.")] = "none",
    map: Annotated[  # noqa: A002
        bool, typer.Option("--map", help="Put the map from history to vector into bundles.")
    ] = False,
    keys: Annotated[
        Path | None,
        typer.Option(help="The file with the keys of tokens; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of a search.")] = 25,
    plan_ahead: Annotated[
        bool, typer.Option(help="Search steps that nobody asked for yet when idle.")
    ] = True,
    poll: Annotated[float, typer.Option(help="Seconds between looks at the models.")] = 5.0,
    root_path: Annotated[str, typer.Option(help="What a proxy puts before all paths.")] = "",
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the model that comes with the package.")
    ] = False,
) -> None:
    """Serve bundles over HTTP: a device asks for its size and gets it.

    \b
    Example:
      elasticrec serve models/books --shelf shelf --port 8000
      curl -LO 'localhost:8000/v1/models/books/bundles?budget=5MB'
    """
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")  # numpy reads them when it is imported, which is now
    from elasticrec.serve.config import ServeConfig
    from elasticrec.serve.demo import demo_models, demo_shelf
    from elasticrec.serve.running import run_service
    from elasticrec.serve.steps import DEFAULT_STEPS, parse_steps
    from elasticrec.space.budget import Budget

    if shelf is None:
        shelf = demo_shelf() if demo and not models else Path("shelf")
    config = ServeConfig(
        models=(*(models or ()), *(demo_models(shelf) if demo else ())),
        shelf=shelf,
        shelf_bytes=Budget.parse(shelf_size).n_bytes,
        steps=parse_steps(step) if step else DEFAULT_STEPS,
        ids=ids,  # type: ignore[arg-type]  # checked there
        map=map,
        keys=keys,
        rounds=rounds,
        plan_ahead=plan_ahead,
        poll_seconds=poll,
    )
    run_service(config, host=host, port=port, workers=workers, root_path=root_path)
