"""Stages of work: one that takes long says so in the log."""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds of work without a line in the log."""
PROGRESS = re.compile(r"epoch \d+/\d+, step")
"""Begin of a line that the next one of its kind makes old."""


@contextmanager
def stage(doing: str) -> Iterator[None]:
    """Log `doing` once a block has run for five seconds, and its seconds at its end."""
    started = time.perf_counter()
    timer = threading.Timer(PATIENCE, log.info, ("%s …", doing))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    seconds = time.perf_counter() - started
    if seconds >= PATIENCE:
        log.info("%s took %.0f s", doing, seconds)


@contextmanager
def lines_in_notebook() -> Iterator[None]:
    """Show what the library logs below the cell of a notebook; does nothing elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        yield
        return
    package, handler = logging.getLogger("elasticrec"), _Shown(ipython.display.display)
    level = package.level
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        yield
    finally:
        package.removeHandler(handler)
        package.setLevel(level)


class _Shown(logging.Handler):
    """Lines of a log as one output; the progress of a stage replaces the line before."""

    def __init__(self, display: Any) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.output = display({"text/plain": ""}, raw=True, display_id=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Show one more line."""
        line = record.getMessage()
        if self.lines and all(map(PROGRESS.match, (line, self.lines[-1]))):
            self.lines.pop()
        self.lines.append(line)
        self.output.update({"text/plain": "\n".join(self.lines)}, raw=True)
