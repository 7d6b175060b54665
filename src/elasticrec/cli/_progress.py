"""Long commands: plain lines on stderr, and a Ctrl-C that loses nothing."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from elasticrec.cli._log import logged_to_stderr

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
