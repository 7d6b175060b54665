"""The demo's narrator on the command line: numbered steps, what came of them, bars meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from elasticrec.cli._progress import counting_bar, stop_on_interrupt, training_bar

if TYPE_CHECKING:
    from rich.console import Console

    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Step


class ConsoleNarrator:
    """Prints each step with the time since the start."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.steps = 0
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    def step(self, title: str, about: str) -> None:
        """Print the heading of a step."""
        self.steps += 1
        clock = f"{int(self.seconds) // 60}:{int(self.seconds) % 60:02d}"
        self.console.print(
            f"[dim]{clock}[/dim] [bold cyan]{self.steps}. {title}[/bold cyan]: {about}",
            highlight=False,
        )

    def say(self, text: str) -> None:
        """Print a line below the heading."""
        from rich.markup import escape
        from rich.padding import Padding

        self.console.print(Padding(escape(text), (0, 0, 0, 5)), highlight=False)

    def training(self, config: TrainConfig) -> AbstractContextManager[Callable[[Step], None]]:
        """A bar that goes away when the training ends."""
        return training_bar(config, transient=True)

    def counting(self, noun: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """A bar that goes away at the end."""
        return counting_bar(noun)

    def interruptible(self) -> AbstractContextManager[Callable[[], bool]]:
        """Ctrl-C as a question."""
        return stop_on_interrupt()
