"""`elasticrec curve`: size against measured quality, as a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def curve(
    model: Annotated[Path, typer.Argument(help="A finished model folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A PNG, SVG or PDF to write.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Show how good a file of each size is, as `elasticrec fit` measured it.

    \b
    Example:
      elasticrec curve MODEL -o curve.png
    """
    import json as to_json

    from elasticrec.files import check_writable
    from elasticrec.model import Model

    found = Model.open(model).curve
    if output is not None:
        check_writable(output)
        from elasticrec.stream.picture import save_curve

        save_curve(found, output, title=str(model))
    if json:
        print(to_json.dumps(found))
        return
    _print_table(found)
    if output is not None:
        print(f"{output} written")


def _print_table(found: dict[str, Any]) -> None:
    """Print a line per size, then the baselines."""
    from rich.console import Console
    from rich.table import Table

    from elasticrec.stream.curve import LINES

    names = [name for name in found["points"][0] if "@" in name]
    title = f"measured on {found['users']:,} {found['part']} users"
    table = Table(title=title, title_justify="left", pad_edge=False)
    for name in ("bytes", "per item", *names):
        table.add_column(name, justify="right")
    for point in found["points"]:
        values = [f"{point[name]:.4f}" for name in names]
        table.add_row(f"{point['bytes']:,}", f"{point['bytes_per_item']:.1f}", *values)
    for name, label in LINES.items():
        if name in found:
            table.add_row(label, "", *(f"{found[name][metric]:.4f}" for metric in names))
    Console().print(table)
