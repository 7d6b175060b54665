"""Stages of work: one that takes long says so in the log."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds of work without a line in the log."""


@contextmanager
def stage(doing: str) -> Iterator[None]:
    """Log `doing` once a block has run for five seconds, and its seconds at its end.

    Args:
        doing: the work, as in `reading ratings.csv`.
    """
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
