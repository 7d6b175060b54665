"""Service: the parts of the server put together, and the work that goes on beside requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.concurrency import run_in_threadpool

from elasticrec.serve.config import ServeConfig
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.problems import Problem
from elasticrec.serve.registry import Registry
from elasticrec.serve.shelf import Shelf
from elasticrec.serve.tokens import Keys, TokenError, bearer

log = logging.getLogger(__name__)

PLAN_PAUSE = 0.02
"""Seconds between two searches that nobody asked for."""
QUIET_SECONDS = 0.5
"""Nobody must have asked for anything for so long: a search beside requests would delay them."""
METRICS_PAUSE = 2.0
"""Seconds between two copies of this process's numbers for the others."""


class Service:
    """What one process serves with."""

    def __init__(self, config: ServeConfig) -> None:
        self.config = config
        self.metrics = Metrics()
        self.keys = Keys.load(config.keys)
        self.shelf = Shelf(config, self.metrics)
        self.registry = Registry(config, config.shelf / "models", self.metrics)
        self.workers = config.shelf / "workers"
        self.workers.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Loads models, then begins, and keeps them up to date until the block ends.

        A process takes connections only once it has models, so that one of several that is slower
        to start refuses nobody.
        """
        await run_in_threadpool(self.shelf.store.clean)
        if not self.keys.secrets:
            log.info("no keys: every request for a user's vector is refused")
        await self._look()
        tasks = [asyncio.create_task(work()) for work in (self._watch, self._plan, self._share)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            self.shelf.close()

    def allow(self, header: str | None, model: str, user: str) -> None:
        """Nothing, where an Authorization header opens this user of this model; else a refusal.

        A refusal is the same whether the user and the model exist or not.
        """
        try:
            self.keys.check(bearer(header), model, user)
        except TokenError as refused:
            self.metrics.refused.add(1, refused.reason)
            if refused.known:
                raise Problem("forbidden", "the token is for another user or model") from None
            invalid = "" if refused.reason == "missing" else ', error="invalid_token"'
            challenge = {"www-authenticate": f'Bearer realm="elasticrec"{invalid}'}
            detail = "a valid token for this user is needed"
            raise Problem("unauthorized", detail, headers=challenge) from None

    def metrics_text(self) -> str:
        """The numbers of all processes on this shelf."""
        files, used = self.shelf.store.usage()
        gauges = {
            "shelf_files": ("Files on the shelf.", float(files)),
            "shelf_bytes": ("Bytes on the shelf.", float(used)),
            "shelf_limit_bytes": ("What the shelf may hold.", float(self.config.shelf_bytes)),
            "models": ("Models that are served.", float(len(self.registry.now))),
            "ready": ("Whether every model is loaded.", float(self.registry.is_ready)),
        }
        return self.metrics.text(self.workers, gauges)

    def look(self) -> None:
        """Take up new versions of models."""
        fresh = self.registry.look()
        now = self.registry.now.values()
        for model in now:
            self.shelf.put_catalogue(model)
        if fresh:
            self.shelf.answers.clean({model.version for model in now})

    async def _look(self) -> None:
        await _tried(run_in_threadpool(self.look), "looking at the models")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.config.poll_seconds)
            await self._look()

    async def _plan(self) -> None:
        while self.config.plan_ahead:
            quiet = time.monotonic() - self.metrics.asked
            if quiet < QUIET_SECONDS:
                await asyncio.sleep(QUIET_SECONDS - quiet)
                continue
            left = False
            for model in self.registry.now.values():
                left |= bool(await _tried(self.shelf.plan_next(model), "planning"))
            await asyncio.sleep(PLAN_PAUSE if left else self.config.poll_seconds)

    async def _share(self) -> None:
        while True:
            await _tried(run_in_threadpool(self.metrics.leave, self.workers), "sharing metrics")
            await asyncio.sleep(METRICS_PAUSE)


async def _tried(work: object, what: str) -> object:
    """What the work gives; None, and a line in the log, where it fails: the service goes on."""
    try:
        return await work  # type: ignore[misc]
    except asyncio.CancelledError:
        raise
    except Exception:
        log.exception("%s failed", what)
        return None
