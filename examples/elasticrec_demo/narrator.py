"""Narrator: whom a demo tells what it is doing. The library itself never prints."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Step


class Narrator(Protocol):
    """Says and shows; the command line's prints, a test's may listen."""

    def step(self, title: str, about: str) -> None:
        """A new step begins: its name, and what it is for."""

    def say(self, text: str) -> None:
        """Something that was found or done within the step."""

    def training(self, config: TrainConfig) -> AbstractContextManager[Callable[[Step], None]]:
        """A progress bar, fed by the steps of a training."""
        ...

    def counting(self, noun: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """A progress bar of some noun, fed by how many were just finished and how many there are.

        Until it is first fed, it only shows that something is being done.
        """
        ...

    def interruptible(self) -> AbstractContextManager[Callable[[], bool]]:
        """A question that is answered yes after Ctrl-C, which does nothing else meanwhile."""
        ...
