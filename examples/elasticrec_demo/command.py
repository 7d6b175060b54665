"""`elasticrec demo`: one model, one stream, three prefixes of it, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticrec.cli._settings import DEVICE, SEED

if TYPE_CHECKING:
    from elasticrec_demo.showing import Shown

MARK = ".elasticrec-demo"
"""A file that says whose folder it is: no other folder is ever written into or cleared."""


def demo(
    source: Annotated[
        str, typer.Argument(help="`goodbooks`, a prepared split, or a table of interactions.")
    ] = "goodbooks",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to write everything into.")
    ] = Path("demo-output"),
    size: Annotated[
        list[str] | None,
        typer.Option(help="Bytes to cut, such as 61234 or 2MB; may be repeated. By default three."),
    ] = None,
    reader: Annotated[str | None, typer.Option(help="Id of the user whose lists to show.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to list.", min=1)] = 10,
    preset: Annotated[str, typer.Option(help="The preset of the settings.")] = "demo",
    seed: SEED = 0,
    device: DEVICE = "auto",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of taking up what is there.")
    ] = False,
) -> None:
    """Fit a sample of books, cut its stream at three sizes, and write a report.

    The device runtime ranks from each size for one reader, and RULE's search stands beside. What an
    earlier run left in the folder is taken up; so is a run that was cut off by Ctrl-C.

    \b
    Example:
      elasticrec demo
      elasticrec demo split.npz --size 200KB --size 2MB --reader 100
    """
    from elasticrec.changing import extended
    from elasticrec.cli._output import resumable
    from elasticrec.cli._settings import configured
    from elasticrec.data.preparation import PrepareConfig, prepare
    from elasticrec.errors import InputError
    from elasticrec.pipeline import fit
    from elasticrec.space import Budget
    from elasticrec_demo.page import write_page
    from elasticrec_demo.showing import show

    sizes, config = sorted(map(Budget.parse, size or [])), configured(preset, seed=seed)
    if config.train.score == "tiled":
        raise InputError(f"--preset {preset}: tiled scores (Eq. 2 as printed) have no stream")
    place = _folder(output, fresh=fresh)
    with resumable() as listening:
        split = prepare(source, PrepareConfig(seed=seed))
        fit(split, place / "MODEL", config, device=device, **listening)
        with extended(place / "MODEL") as model:
            shown = show(
                model, config, place, listening["report"],
                sizes=sizes, reader=reader, k=k, device=device,
            )  # fmt: skip
    write_page(shown, place / "report.html")
    _print(shown)
    print(f"the report: {place / 'report.html'}")


def _folder(output: Path, *, fresh: bool) -> Path:
    """The demo's folder, made if it is missing; any other folder is refused."""
    import shutil

    from elasticrec.errors import InputError
    from elasticrec.files import writing

    mark = output / MARK
    if output.exists() and not (output.is_dir() and (mark.exists() or not any(output.iterdir()))):
        raise InputError(f"{output}: is not the demo's, expected a new or empty folder")
    if fresh and mark.exists():
        shutil.rmtree(output)
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return output


def _print(shown: Shown) -> None:
    """Print the lists side by side, and what each size is worth."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    metric, console = shown.model.curve["metric"], Console()
    table = Table(expand=True, pad_edge=False)
    for size in shown.sizes:
        table.add_column(f"{size.budget} ({size.quality:.4f})", no_wrap=True, ratio=1)
    for row in zip(*(size.listed for size in shown.sizes), strict=True):
        table.add_row(*(f"{'✓' * e.hidden:2}{'+' * e.new:2}{escape(e.title)}" for e in row))
    console.print(table)
    print(f"For reader {shown.reader}, with the {metric} of each size.")
    print("+ is new at this size, ✓ was hidden: she took it.")
    for size in shown.sizes:
        cut = f"head -c {size.budget.n_bytes} {shown.model.path('stream')} > {size.path}"
        print(f"{cut}   # ranks with {size.n_bytes:,} bytes: whole chunks")
