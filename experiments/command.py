"""What the commands of all experiments have in common."""

from __future__ import annotations

from pathlib import Path

import typer

from elasticrec.cli._errors import PlainErrors
from elasticrec.errors import InputError


def make_app(about: str | None) -> typer.Typer:
    """The commands of one experiment, described by its module; bad input ends in one line."""
    app = typer.Typer(cls=PlainErrors, add_completion=False, help=about, no_args_is_help=True)
    app.callback(help=about)(lambda: None)  # so that a command that is alone keeps its name
    return app


def datasets_in(folder: Path, names: str) -> list[str]:
    """The data sets of a list such as `gowalla,yelp2018`, each prepared in a folder."""
    found = [name for name in names.split(",") if name]
    for name in found:
        if not (folder / f"{name}.npz").exists():
            raise InputError(
                f"{folder} holds no {name}.npz; expected what `elasticrec data prepare` writes "
                "(experiments/README.md)"
            )
    return found
