"""Stages of work: one that takes long says so in the log."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds of work without a line in the log."""


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
    package, handler = logging.getLogger("elasticrec"), logging.StreamHandler(sys.stdout)
    level = package.level
    package.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        yield
    finally:
        package.removeHandler(handler)
        package.setLevel(level)
