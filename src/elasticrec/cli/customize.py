"""`elasticrec customize`: a bundle for each budget."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from elasticrec.customizing import Customized, Customizer


class IdsHeld(StrEnum):
    """How a bundle names items."""

    none = "none"
    original = "original"


class Part(StrEnum):
    """What was held out."""

    test = "test"
    validation = "validation"


def customize(
    model: Annotated[Path, typer.Argument(help="A model folder with an estimator.")],
    budget: Annotated[
        list[str],
        typer.Option(help="5MB, 512KB, 1MiB or plain bytes; may be repeated.", metavar="SIZE"),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The bundle to write; with several budgets each adds its size to the name.",
        ),
    ],
    ids: Annotated[
        IdsHeld,
        typer.Option(help="original: hold the data's own ids; none: an item's id is its number."),
    ] = IdsHeld.original,
    with_map: Annotated[
        bool,
        typer.Option("--map", help="Hold the map that turns a history into a vector: 2·D² bytes."),
    ] = False,
    without: Annotated[
        Path | None,
        typer.Option(help="A file of ids, one per line, of items never to list."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the bundle says it is.")] = None,
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
        bool, typer.Option("--evaluate", help="Measure each bundle on --part and say so in it.")
    ] = False,
    part: Annotated[Part, typer.Option(help="The part for --evaluate.")] = Part.test,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="Where to evaluate: auto, cpu or cuda.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Write the best bundle that fits each budget: search, then pack.

    A bundle is the one file that a device needs; it never exceeds its budget. Where the model's
    persons have vectors on the server, the bytes of one vector are taken off the budget first.
    Several budgets are filled one inside the other where that costs next to nothing, so that a
    device can be upgraded by a small download.

    \b
    Example:
      elasticrec customize MODEL --budget 5MB -o watch.elastic
      elasticrec customize MODEL --budget 1MB --budget 5MB -o device.elastic
      elasticrec customize MODEL --budget 5MB --without recalled.txt -o watch.elastic
      elasticrec customize MODEL --budget 5MB --measured -o watch.elastic
    """
    from dataclasses import replace

    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.customizing import Customizer
    from elasticrec.files import check_writable
    from elasticrec.presets import preset
    from elasticrec.search.measuring import held_out_quality, quality_to_search_by
    from elasticrec.space.budget import Budget

    budgets = sorted({Budget.parse(text) for text in budget})
    check_writable(output)
    customizer = Customizer(
        ModelFolder.open(model),
        ids=ids.value,
        with_map=with_map,
        without=[] if without is None else _lines(without),
        name=name,
    )
    config = preset("default").search
    if refine is not None:
        config = replace(config, refine=refine)
    searcher = customizer.searcher
    made = customizer.customize(
        budgets,
        config,
        seed=seed,
        evaluate=quality_to_search_by(searcher, config, measured=measured, device=device),
        report=held_out_quality(searcher, part.value, device=device) if evaluate else None,
        measured=measured,
    )
    paths = [each.write(_named(output, each.budget, len(made) > 1)) for each in made]
    _print_json(made, paths) if json else _print_lines(customizer, made, paths)


def _lines(path: Path) -> list[str]:
    """The lines of a file that hold something."""
    from elasticrec.files import read_bytes

    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _named(path: Path, budget: object, several: bool) -> Path:
    """The path, with the budget before its suffix where several share it."""
    size = str(budget).replace(" ", "")
    return path.with_name(f"{path.stem}-{size}{path.suffix}") if several else path


def _print_lines(customizer: Customizer, made: list[Customized], paths: list[Path]) -> None:
    """Print one line per bundle."""
    searcher = customizer.searcher
    print(f"{searcher.metric} for persons known by {searcher.person}")
    for each, path in zip(made, paths, strict=True):
        print(f"{path}: {each.summary()}")


def _print_json(made: list[Customized], paths: list[Path]) -> None:
    """Print the facts as one JSON object."""
    import json

    listed = [
        {
            "path": str(path),
            "budget_bytes": each.budget.n_bytes,
            "file_bytes": len(each.content),
            "sha256": each.sha256,
            "estimate": each.found.estimate,
            "measured": each.found.measured,
            "note": each.found.note,
        }
        for each, path in zip(made, paths, strict=True)
    ]
    print(json.dumps({"bundles": listed}))
