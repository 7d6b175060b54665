"""Many measurements by the engine in use, each of which may fail without harm to the others."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from elasticrec.engine import in_use

T = TypeVar("T")
Work = Callable[[T], str]
"""Does one task and says in short what came of it; a module's own function, to be found again."""


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of one task."""

    task: T
    said: str
    """The words of the work, or the reason why it failed."""
    failed: bool


def run_all(tasks: Sequence[T], work: Work[T], seconds: float = float("inf")) -> list[Ended[T]]:
    """The end of every task, in the order they ended; each is printed.

    Args:
        seconds: when they are over, what still runs elsewhere is ended and nothing more begins.
    """
    began, ended = time.monotonic(), list[Ended[T]]()
    for outcome in in_use().run(_done, tasks, work, until=began + seconds):
        task, error = tasks[outcome.number], outcome.error
        said = outcome.result or f"{task}: {type(error).__name__}: {error}"
        if error is not None:
            print("".join(getattr(error, "__notes__", ())), file=sys.stderr)
        ended.append(Ended(task, said, error is not None))
        word = "" if error is None else "FAILED "
        print(f"{time.monotonic() - began:6.1f} s  {word}{said}", flush=True)
    if left := len(tasks) - len(ended):
        print(f"{left} tasks were not done; the same command goes on", flush=True)
    return ended


def _done(work: Work[T], task: T) -> str:
    return work(task)
