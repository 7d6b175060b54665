"""What commands show and listen to while something takes long: bars on stderr, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Step


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """A question that is answered yes after Ctrl-C; a second Ctrl-C ends at once."""
    asked = threading.Event()

    def handle(number: int, frame: Any) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def training_bar(
    config: TrainConfig, *, transient: bool = False
) -> Iterator[Callable[[Step], None]]:
    """A bar with epoch, loss, validation metric and time left, fed by steps.

    Args:
        transient: whether it goes away at the end.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("{task.fields[value]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, refresh_per_second=4, transient=transient) as bar:
        task = bar.add_task(
            "train", total=None, epoch=1, epochs=config.epochs, loss=float("nan"), value=""
        )

        def report(step: Step) -> None:
            value = "" if step.value is None else f"{config.metric} {step.value:.4f}"
            bar.update(
                task, completed=step.done, total=step.total,
                epoch=step.epoch + 1, loss=step.loss, value=value,
            )  # fmt: skip

        yield report


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that goes away at the end, and what moves it: so many just finished, so many in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def advance(finished: int, total: int) -> None:
            bar.update(task, total=total, advance=finished)

        yield advance


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """A line that says what is being done and for how long, and goes away; and what changes it."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", visible=False)
        yield lambda what: bar.reset(task, description=what, visible=True)
