"""The root of the command line: finds the commands, and turns bad input into one line."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.main import get_group

from elasticrec import __version__
from elasticrec.cli._output import PlainErrors

COMMANDS = {
    "fit": "fit", "customize": "customize", "recommend": "recommend", "evaluate": "evaluate",
    "curve": "evaluate", "inspect": "inspect", "serve": "publish", "publish": "publish",
    "demo": "elasticrec_demo.command", "data": "data", "tune": "fit", "train": "fit",
    "compress": "fit", "order": "fit", "rule": "rule", "catalogue": "customize",
    "vector": "customize", "withdraw": "customize", "push": "publish", "pull": "publish",
    "keys": "publish", "token": "publish",
}  # fmt: skip
"""The module of each command, in the order in which `--help` lists them, the usual way first."""


def load_command(name: str) -> Any:
    """The command of that name: a function of its module, or a Typer group."""
    module = COMMANDS[name]
    found = getattr(import_module(module if "." in module else f"elasticrec.cli.{module}"), name)
    mount = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        mount.add_typer(found, name=name)
    else:
        mount.command(name)(found)
    return get_group(mount).commands[name]


class Commands(PlainErrors):
    """A group that imports a command when it is asked for, and reports bad input in one line."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names; the demo's where its package is installed."""
        return [name for name in COMMANDS if name != "demo" or find_spec("elasticrec_demo")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; an unknown name is a usage error that lists the known."""
        if cmd_name not in COMMANDS:
            ctx.fail(f"there is no command {cmd_name!r}; the commands are {', '.join(COMMANDS)}")
        return load_command(cmd_name)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"elasticrec {__version__}")
        raise typer.Exit()


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip


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
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")


def run() -> None:
    """Run the command line and exit."""
    # Read when torch is first imported. On a busy machine, threads that spin while they wait make a
    # training take ten times as long; threads that sleep cost next to nothing on an idle one.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "TORCHELASTIC_RUN_ID" not in os.environ:
        return app(prog_name="elasticrec")
    from elasticrec.training.loop import follow
    from elasticrec.training.sharding import together

    together(lambda: app(prog_name="elasticrec"), follow)
