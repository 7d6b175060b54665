"""Many measurements at the same time, each in a process that may fail without harm to the others.

Workers are spawned once and take task after task, so that torch is imported once per worker. One
that fails is replaced: after an error a GPU's state is not to be trusted.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Work = Callable[[T], str]
"""Does one task and says in short what came of it; a module's own function, to be found again."""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The end of one task."""

    task: T
    said: str
    """The words of the work, or the reason why it failed."""
    failed: bool
    seconds: float


@dataclass
class _Worker(Generic[T]):
    """A process, the way to it, and what it does now."""

    process: Any
    connection: Connection
    task: T | None = None
    started: float = field(default_factory=time.monotonic)


def run_all(
    tasks: Iterable[T],
    work: Work[T],
    *,
    jobs: int = 1,
    threads: int = 1,
    then: Callable[[Outcome[T]], Sequence[T]] = lambda _: (),
    seconds: float | None = None,
) -> list[Outcome[T]]:
    """The outcome of every task, in the order they ended; each end is printed.

    Args:
        jobs: tasks at the same time; 1 works in this very process.
        threads: CPU threads of each worker.
        then: called after each end; the tasks it gives are done as well.
        seconds: when they are over, what still runs is ended and nothing more begins.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    queue, ended = deque(tasks), list[Outcome[T]]()
    began = time.monotonic()
    limit = float("inf") if seconds is None else began + seconds

    def end(outcome: Outcome[T]) -> None:
        ended.append(outcome)
        word = "FAILED " if outcome.failed else ""
        print(f"{time.monotonic() - began:6.1f} s  {word}{outcome.said}", flush=True)
        queue.extend(then(outcome))

    if jobs == 1:
        while queue and time.monotonic() < limit:
            end(_attempt(queue.popleft(), work))
    else:
        _in_processes(queue, work, jobs, limit, end)
    if queue:
        print(f"{len(queue)} tasks were not begun; the same command goes on", flush=True)
    return ended


def _attempt(task: T, work: Work[T]) -> Outcome[T]:
    """The outcome of a task in this process."""
    started = time.monotonic()
    try:
        said, failed = work(task), False
    except Exception as error:  # whatever a method does wrong, the others go on
        traceback.print_exc(file=sys.stderr)
        said, failed = f"{task}: {type(error).__name__}: {error}", True
    return Outcome(task, said, failed, time.monotonic() - started)


def _in_processes(
    queue: deque[T],
    work: Work[T],
    jobs: int,
    limit: float,
    end: Callable[[Outcome[T]], None],
) -> None:
    """Work off a queue that may grow, until it is empty or the time is over."""
    context = multiprocessing.get_context("spawn")
    idle, busy = list[_Worker[T]](), dict[Connection, _Worker[T]]()
    try:
        while (queue or busy) and time.monotonic() < limit:
            while queue and len(busy) < jobs:
                worker = idle.pop() if idle else _start(context, work)
                worker.task, worker.started = queue.popleft(), time.monotonic()
                worker.connection.send(worker.task)
                busy[worker.connection] = worker
            for ready in wait(list(busy), timeout=1.0):
                worker = busy.pop(ready)  # type: ignore[call-overload]
                outcome = _received(worker)
                if outcome.failed:
                    worker.process.join(timeout=10)
                else:
                    idle.append(worker)
                end(outcome)
    finally:
        for worker in idle:
            worker.connection.send(None)
        for worker in busy.values():
            print(f"ended before it was done: {worker.task}", flush=True)
            worker.process.terminate()
        for worker in (*idle, *busy.values()):
            worker.process.join(timeout=10)


def _start(context: Any, work: Work[T]) -> _Worker[T]:
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, work), daemon=False)
    process.start()
    there.close()
    return _Worker(process, here)


def _serve(connection: Connection, work: Work[T]) -> None:
    """Do the tasks that come, until None or a failure."""
    while (task := connection.recv()) is not None:
        outcome = _attempt(task, work)
        connection.send((outcome.said, outcome.failed))
        if outcome.failed:
            return


def _received(worker: _Worker[T]) -> Outcome[T]:
    """The outcome that a worker sent, or that it died."""
    assert worker.task is not None
    seconds = time.monotonic() - worker.started
    try:
        said, failed = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join(timeout=10)
        died = f"{worker.task}: its process ended with {worker.process.exitcode}"
        return Outcome(worker.task, died, True, seconds)
    return Outcome(worker.task, said, failed, seconds)
