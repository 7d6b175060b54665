"""Once: the same work is done once, however many ask for it at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from elasticrec.serve.problems import Problem

T = TypeVar("T")


class Once:
    """Work by key, in a few threads; those who ask for a key that is under way wait for it."""

    def __init__(self, threads: int, waiting: int, seconds: float, retry_seconds: int) -> None:
        """Nothing under way yet.

        Args:
            threads: how much is done at the same time.
            waiting: different keys that may be under way before further ones are refused.
            seconds: how long anyone waits; the work goes on without them.
            retry_seconds: what those are told to wait who are refused.
        """
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="making")
        self._waiting, self._seconds = waiting, seconds
        self._retry = {"retry-after": str(retry_seconds)}
        self._pending: dict[str, asyncio.Future[Any]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._pending

    async def do(self, key: str, work: Callable[[], T]) -> T:
        """What the work gives; it starts unless work of the same key is under way."""
        future = self._pending.get(key)
        if future is None:
            if len(self._pending) >= self._waiting:
                raise Problem(
                    "busy",
                    f"{len(self._pending)} new files are being made, which is the most at a time",
                    headers=self._retry,
                )
            future = asyncio.get_running_loop().run_in_executor(self._pool, work)
            self._pending[key] = future
            future.add_done_callback(lambda done: self._finished(key, done))
        try:
            result: T = await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            detail = f"making the file takes longer than {self._seconds:g} s; it goes on"
            raise Problem("busy", detail, headers=self._retry) from None
        return result

    def close(self) -> None:
        """Start nothing more; what is under way is finished by its thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _finished(self, key: str, done: asyncio.Future[Any]) -> None:
        self._pending.pop(key, None)
        if not done.cancelled():
            done.exception()  # seen, also where nobody waits any more
