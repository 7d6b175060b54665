"""D_est (Alg. 3): many random compositions, each measured on the same validation users.

Draw i depends on (seed, i) alone and each measurement runs on one thread, so that any number of
worker processes, killed and started again at any time, gives the same set.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError
from elasticrec.rule.estimator.ledger import Ledger, Samples

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from elasticrec.evaluation.compositions import Evaluator
    from elasticrec.rule.randomizer import Drawn

log = logging.getLogger(__name__)

Draw = Callable[[Sequence[int]], "Drawn"]
"""The compositions of some draw numbers; picklable where there are several workers."""
MakeEvaluator = Callable[[], "Evaluator"]
"""A new evaluator; picklable where there are several workers, each of which makes its own."""


def collect(
    ledger: Ledger,
    numbers: Sequence[int],
    draw: Draw,
    make_evaluator: MakeEvaluator,
    *,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Samples:
    """Some draws, measured: those in the ledger are taken, the others are added to it.

    Args:
        numbers: which draws.
        draw: gives compositions by number.
        make_evaluator: gives what measures them.
        workers: processes that measure; 1 measures in this one.
        progress: called with how many draws were just finished, first with those found.
    """
    if workers < 1:
        raise InputError(f"{workers} workers, expected at least 1")
    done = ledger.done
    missing = [i for i in numbers if i not in done]
    tell = progress or (lambda _: None)
    tell(len(numbers) - len(missing))
    if missing:
        for some, samples in _measured(missing, draw, make_evaluator, workers):
            ledger.append(some, samples)
            tell(len(some))
    return ledger.samples(numbers)


def measure(numbers: Sequence[int], draw: Draw, evaluator: Evaluator) -> Samples:
    """Some draws, measured."""
    drawn = draw(numbers)
    values = evaluator.evaluate(drawn.depths, drawn.neighbours)
    return Samples(drawn.depths, drawn.neighbours, np.asarray(values, dtype=np.float64))


def _measured(
    missing: list[int], draw: Draw, make_evaluator: MakeEvaluator, workers: int
) -> Iterator[tuple[Sequence[int], Samples]]:
    """Batches of draws and their samples, in the order of the draws however many work on them."""
    if workers == 1:
        evaluator = make_evaluator()
        for numbers in _batches(missing, evaluator.batch):
            yield numbers, measure(numbers, draw, evaluator)
        return
    # Spawned, not forked: torch's threads do not survive a fork, and no worker inherits the
    # ledger's lock. A few draws per task keep a kill cheap.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(draw, make_evaluator)
    ) as pool:
        tasks = _batches(missing, max(1, min(16, len(missing) // (4 * workers))))
        try:
            yield from zip(tasks, pool.map(_measure_in_worker, tasks), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def _batches(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


class _Worker:
    """What a worker process was started with."""

    draw: Draw
    evaluator: Evaluator


def _start_worker(draw: Draw, make_evaluator: MakeEvaluator) -> None:
    """Make this process's evaluator once, and end the process when its parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _Worker.draw, _Worker.evaluator = staticmethod(draw), make_evaluator()


def _end_with(parent: BaseProcess) -> None:
    """Wait for the parent's end, then end this process: a killed parent leaves no orphans."""
    parent.join()
    os._exit(1)


def _measure_in_worker(numbers: Sequence[int]) -> Samples:
    return measure(numbers, _Worker.draw, _Worker.evaluator)
