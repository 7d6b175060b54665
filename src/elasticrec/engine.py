"""Engine: one function over many shards, in this process, in several, or on a Ray cluster.

Shards are made of the data alone, never of the number of workers, so results do not depend on the
engine. The shard of a worker that dies is done again by another one.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from math import inf
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from elasticrec.errors import InputError

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
Work = Callable[[Any, T], R]
"""Does one shard, given what all share: a function that other processes find in its module."""
NAMES = ("serial", "processes", "ray")
THREADS = "OMP_NUM_THREADS"
TRIES = 3
"""Workers that may die of one shard before it counts as failed."""
PATIENCE = 5.0
"""Seconds between lines of progress in the log."""


class Outcome(NamedTuple, Generic[R]):
    """The end of one shard."""

    number: int
    """The shard's place among all."""
    result: R | None = None
    error: Exception | None = None
    """The error of the work, or that every worker died of it."""


class Engine:
    """Where shards are worked off: here in this process, one after the other."""

    def run(
        self, work: Work[T, R], shards: Sequence[T], shared: Any = None, *, until: float = inf
    ) -> Iterator[Outcome[R]]:
        """The outcome of each shard, as they end; closing the iterator ends what still runs.

        Args:
            until: the time of `monotonic` at which nothing more begins, and what runs elsewhere
                is ended.
        """
        for number, shard in enumerate(shards):
            if monotonic() > until:
                return
            yield _attempt(work, shared, shard, number)

    def close(self) -> None:
        """Give back what the engine holds."""


def _attempt(work: Work[T, R], shared: Any, shard: T, number: int) -> Outcome[R]:
    """The outcome of one shard in this process."""
    try:
        return Outcome(number, work(shared, shard))
    except Exception as error:  # whatever goes wrong, the others go on
        if not isinstance(error, InputError):
            error.add_note(traceback.format_exc())
        return Outcome(number, error=error)


def _given_up(number: int, why: str) -> Outcome[Any]:
    """The outcome of a shard of which every worker died."""
    told = f"a shard was tried {TRIES} times: {why}; is memory short?"
    return Outcome(number, error=InputError(told))


class Processes(Engine):
    """Processes of this machine, spawned once and kept, with one thread each.

    What shards share is written once to files, which every worker maps. A worker that fails is
    replaced: after an error a GPU's state is not to be trusted.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or _all_cores()
        self._idle: list[_Worker] = []

    def run(
        self, work: Work[T, R], shards: Sequence[T], shared: Any = None, *, until: float = inf
    ) -> Iterator[Outcome[R]]:
        """The outcome of each shard, as they end."""
        folder, busy = tempfile.mkdtemp(prefix="elasticrec-"), dict[Any, tuple[_Worker, int]]()
        waiting, died = deque(range(len(shards))), Counter[int]()
        try:
            _put(shared, Path(folder))
            while (waiting or busy) and monotonic() < until:
                while waiting and len(busy) < self.workers:
                    worker = self._idle.pop() if self._idle else _Worker()
                    number = waiting.popleft()
                    busy[worker.connection] = worker, number
                    with suppress(OSError):  # died in the meantime: nothing will come from it
                        worker.connection.send((work, folder, shards[number], number))
                for ready in wait(list(busy), timeout=1.0):
                    worker, number = busy.pop(ready)
                    try:
                        outcome = worker.connection.recv()
                    except (EOFError, ConnectionResetError):
                        worker.process.join(timeout=10)
                        died[number] += 1
                        if died[number] < TRIES:
                            waiting.appendleft(number)
                            continue
                        code = worker.process.exitcode
                        outcome = _given_up(number, f"its process ended with {code}")
                    if outcome.error is None:
                        self._idle.append(worker)
                    yield outcome
        finally:
            for worker, _ in busy.values():
                worker.process.terminate()
                worker.process.join(timeout=10)
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End the workers."""
        for worker in self._idle:
            worker.connection.close()
            worker.process.join(timeout=10)


class _Worker:
    """A process, and the way to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process, before = context.Process(target=_serve, args=(there,)), dict(os.environ)
        os.environ[THREADS] = "1"  # read by the libraries as they are imported there
        try:
            self.process.start()
        finally:
            del os.environ[THREADS]
            os.environ.update(before)
        there.close()


def _serve(connection: Connection) -> None:
    """Work off the shards that come, until the other side is gone or one fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has the workers
    held, shared = "", None
    with suppress(EOFError, OSError):
        while True:
            work, folder, shard, number = connection.recv()
            if folder != held:
                shared = None  # what was shared before goes first
                held, shared = folder, _got(Path(folder))
            outcome = _attempt(work, shared, shard, number)
            connection.send(outcome)
            if outcome.error is not None:
                return


def _put(value: Any, folder: Path) -> None:
    """Write a value into a folder, each of its arrays to a file of its own."""
    buffers: list[pickle.PickleBuffer] = []
    (folder / "value").write_bytes(pickle.dumps(value, protocol=5, buffer_callback=buffers.append))
    for number, buffer in enumerate(buffers):
        (folder / str(number)).write_bytes(buffer.raw())


def _got(folder: Path) -> Any:
    """The value in a folder; its arrays are mapped, and what is written to them stays here."""
    files = [folder / str(number) for number in range(len(os.listdir(folder)) - 1)]
    buffers = [np.memmap(f, mode="c") if f.stat().st_size else bytearray() for f in files]
    return pickle.loads((folder / "value").read_bytes(), buffers=buffers)


class Ray(Engine):
    """A Ray cluster: what shards share goes once to each node; Ray repeats what a lost node had."""

    def __init__(self, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to others
        import ray

        self._owns = not ray.is_initialized()
        if self._owns:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)

    def run(
        self, work: Work[T, R], shards: Sequence[T], shared: Any = None, *, until: float = inf
    ) -> Iterator[Outcome[R]]:
        """The outcome of each shard, as they end."""
        import ray

        attempt, held = ray.remote(max_retries=TRIES - 1)(_attempt), ray.put(shared)
        waiting, busy = deque(range(len(shards))), dict[Any, int]()
        try:
            while (waiting or busy) and monotonic() < until:
                most = max(1, 2 * int(ray.cluster_resources().get("CPU", 1)))
                while waiting and len(busy) < most:
                    number = waiting.popleft()
                    busy[attempt.remote(work, held, shards[number], number)] = number
                for ready in ray.wait(list(busy), timeout=5.0)[0]:
                    number = busy.pop(ready)
                    try:
                        outcome = ray.get(ready)
                    except ray.exceptions.RayError as error:
                        outcome = _given_up(number, str(error).strip().splitlines()[0])
                    yield outcome
        finally:
            for each in busy:
                ray.cancel(each, force=True)

    def close(self) -> None:
        """Leave the cluster."""
        import ray

        if self._owns:
            ray.shutdown()


_CURRENT: ContextVar[Engine] = ContextVar("engine", default=Engine())  # noqa: B039


@contextmanager
def using(name: str, *, address: str | None = None, workers: int | None = None) -> Iterator[Engine]:
    """Work off all shards of the block by the engine of a name.

    Args:
        address: of the Ray cluster; by default $RAY_ADDRESS, or one of this machine alone.
        workers: processes at the same time; by default one per core.
    """
    if name not in NAMES or (address and name != "ray"):
        found = f"engine {name!r}" + (f" with the address {address}" if address else "")
        raise InputError(f"{found}, expected serial, processes, or ray with an address")
    engine = Engine()
    if name != "serial":
        engine = Ray(address) if name == "ray" else Processes(workers)
    before = _CURRENT.set(engine)
    try:
        yield engine
    finally:
        _CURRENT.reset(before)
        engine.close()


def in_use() -> Engine:
    """The engine by which shards are worked off now."""
    return _CURRENT.get()


def map_shards(
    work: Work[T, R], shards: Sequence[T], shared: Any = None, *,
    threads: bool = False, here: bool = False,
) -> Iterator[R]:  # fmt: skip
    """The results of each shard, in their order, by the engine in use.

    Args:
        shared: what every shard needs; it goes to each worker once.
        threads: the work lets other threads run, so this process takes a shard per core.
        here: stay in this process: what is shared is large, or on a GPU.
    """
    engine = in_use()
    if here or type(engine) is Engine or len(shards) < 2:
        if threads and len(shards) > 1:
            with ThreadPoolExecutor(cores()) as pool:
                yield from pool.map(partial(work, shared), shards)
        else:
            yield from (work(shared, shard) for shard in shards)
        return
    early, n, said = dict[int, R | None](), 0, monotonic()
    for done, outcome in enumerate(engine.run(work, shards, shared), start=1):
        if outcome.error is not None:
            raise outcome.error
        early[outcome.number] = outcome.result
        if monotonic() - said > PATIENCE:
            said = monotonic()
            log.info("%d of %d shards", done, len(shards))
        while n in early:
            yield early.pop(n)  # type: ignore[misc]
            n += 1


def cores() -> int:
    """The threads that this process may have: $OMP_NUM_THREADS, or one per core."""
    given = os.environ.get(THREADS, "").partition(",")[0]
    return max(1, int(given)) if given.isdigit() else _all_cores()


def _all_cores() -> int:
    own = getattr(os, "sched_getaffinity", None)
    return len(own(0)) if own else os.cpu_count() or 1


def ranges(costs: np.ndarray, most: float) -> list[tuple[int, int]]:
    """Ranges (start, stop) over all costs, each of about `most` in sum, or of a single cost."""
    number = (np.cumsum(costs) - costs) // most
    return [*pairwise([*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(costs)])]
