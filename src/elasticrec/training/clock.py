"""Times of a training, earlier runs included."""

from __future__ import annotations

import time

from elasticrec.training.checkpoint import Progress


class Clock:
    """Seconds since a training began, and when something was last done."""

    def __init__(self) -> None:
        self._began, self._began_cpu = time.monotonic(), time.process_time()
        self._before = self._before_cpu = 0.0
        self._first_step, self._first_time = 0, self._began
        self._latest: dict[str, float] = {}

    def start(self, progress: Progress) -> None:
        """Begin to count steps, after those and the seconds that earlier runs took."""
        self._before, self._before_cpu = progress.seconds, progress.cpu_seconds
        self._first_step, self._first_time = progress.steps, time.monotonic()
        self._latest = {}

    def note(self, progress: Progress) -> None:
        """Write the seconds so far to the progress."""
        progress.seconds = self._before + time.monotonic() - self._began
        progress.cpu_seconds = self._before_cpu + time.process_time() - self._began_cpu

    def passed(self, what: str, seconds: float) -> bool:
        """True once so many seconds have passed since the start, or since it was last true."""
        now = time.monotonic()
        if now - self._latest.get(what, self._first_time) < seconds:
            return False
        self._latest[what] = now
        return True

    def seconds_left(self, done: int, total: int) -> float:
        """Time that the remaining steps take at the pace of this run."""
        pace = (time.monotonic() - self._first_time) / max(done - self._first_step, 1)
        return pace * (total - done)
