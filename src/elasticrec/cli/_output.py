"""Output of commands: plain lines on stderr, errors of one line, tables."""

from __future__ import annotations

import json
import logging
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from elasticrec.errors import InputError

INSTALLED_BY = {
    **dict.fromkeys(("torch", "scipy", "polars"), "elasticrec[train]"),
    **dict.fromkeys(("starlette", "uvicorn"), "elasticrec[serve]"),
    **{"matplotlib": "elasticrec[plots]", "cryptography": "elasticrec[sign]"},
    **{"optuna": "elasticrec[tune]", "elasticrec_demo": "elasticrec[demo]"},
    **{"elasticrec_device": "elasticrec-device"},
    **dict.fromkeys(("fsspec", "gcsfs", "ray", "s3fs"), "elasticrec[scale]"),
    **dict.fromkeys(("numpy", "rich", "safetensors"), "elasticrec"),
}
"""The package that has a missing library."""

NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory", re.IGNORECASE)
"""The words of torch where there is too little memory."""
USAGE_ERROR: Any = typer.BadParameter.__base__
BAD_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class PlainErrors(TyperGroup):
    """A group whose commands say in one line what is wrong with what they were given."""

    def main(self, *args: Any, **given: Any) -> Any:
        """Run the command and exit; bad input ends with exit code 2, Ctrl-C with 130."""
        try:
            sys.exit(super().main(*args, **{**given, "standalone_mode": False}))
        except USAGE_ERROR as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
                sys.exit(error.exit_code)
            shown = error.ctx.command_path
            _fail(f"{shown}: {error.format_message()} (`{shown} -h` lists the options)")
        except InputError as error:
            _fail(str(error))
        except BAD_PATH as error:
            _fail(f"{error.filename}: {error.strerror}")
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not NO_MEMORY.search(str(error)):
                raise
            asked = (str(error).strip().splitlines() or [""])[0][:150]
            _fail(f"there is too little memory for this; smaller settings need less ({asked})")
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in INSTALLED_BY:
                raise
            _fail(f"this needs {library}; install it by: pip install '{INSTALLED_BY[library]}'")


def _fail(message: str) -> None:
    """Print one line to stderr and leave with exit code 2."""
    print("error:", " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


@contextmanager
def logged_to_stderr() -> Iterator[None]:
    """Print what the library logs, from INFO on, as plain lines on stderr."""
    log = logging.getLogger("elasticrec")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level, propagate = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagate


log = logging.getLogger(__name__)


@contextmanager
def resumable() -> Iterator[dict[str, Any]]:
    """`report` and `stop` for the pipeline, whose stages are kept when Ctrl-C ends the block.

    Training ends after the step under way, with a checkpoint; a second Ctrl-C, or one at any other
    stage, ends at once.
    """
    from elasticrec.training.loop import InterruptedTraining

    stages, asked = [""], threading.Event()

    def handle(number: int, frame: Any) -> None:
        if stages[-1] != "train" or asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    def report(stage: str, text: str) -> None:
        stages.append(stage)
        log.info("%s: %s", stage, text)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with logged_to_stderr():
            yield {"report": report, "stop": asked.is_set}
    except (InterruptedTraining, KeyboardInterrupt):
        print("stopped; what is done is kept, and the same command goes on", file=sys.stderr)
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


def print_json(facts: Any) -> None:
    """Print one JSON object or list, in one line."""
    print(json.dumps(facts, ensure_ascii=False))


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None,
    left: str | None = None,
) -> None:  # fmt: skip
    """Print a table, one column (by default the first) to the left and the others to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for head in heads:
        to_left = head == (heads[0] if left is None else left)
        table.add_column(Text(head), justify="left" if to_left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def read_ids(path: Path) -> list[str]:
    """The ids in a text file, one per line."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]
