"""The root of the command line: finds the commands, and turns bad input into one line."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_group

from elasticrec import __version__
from elasticrec.cli._output import PlainErrors

PIPELINE = (
    *("fit", "customize", "recommend", "evaluate", "curve", "inspect", "serve", "publish", "demo"),
    *("data", "tune", "train", "compress", "order", "rule", "catalogue", "vector", "withdraw"),
    *("push", "pull", "keys", "token"),
)
"""The order in which `--help` lists the commands, the usual way first; others follow by name."""


def command_names() -> list[str]:
    """The names of all commands, in the order of the pipeline."""
    found = {path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py")}
    found.discard("main")
    return [name for name in PIPELINE if name in found] + sorted(found - set(PIPELINE))


def load_command(name: str) -> Any:
    """The command of that name, from its module: the Typer group `app`, or the function."""
    attribute = name.replace("-", "_")
    module = import_module(f"elasticrec.cli.{attribute}")
    mount = typer.Typer(rich_markup_mode=None)
    if hasattr(module, "app"):
        mount.add_typer(module.app, name=name)
    else:
        mount.command(name)(getattr(module, attribute))
    return get_group(mount).commands[name]


class Commands(PlainErrors):
    """A group that imports a command when it is asked for, and reports bad input in one line."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names, without importing anything."""
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; an unknown name is a usage error that lists the known."""
        known = command_names()
        if cmd_name not in known:
            ctx.fail(f"there is no command {cmd_name!r}; the commands are {', '.join(known)}")
        return load_command(cmd_name)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"elasticrec {__version__}")
        raise typer.Exit()


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def root(
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say on stderr what the library is doing.")
    ] = False,
) -> None:
    """Train one recommender; fit it to every device."""
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")


def run() -> None:
    """Run the command line and exit."""
    # Read when torch is first imported. On a busy machine, threads that spin while they wait make a
    # training take ten times as long; threads that sleep cost next to nothing on an idle one.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app(prog_name="elasticrec")
