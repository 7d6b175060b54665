"""Shelf: find or make the bundle for a budget, and the upgrade from one bundle to another.

A new bundle is searched and packed once per host: inside a process those who ask wait for the one
that works, and processes take turns by a lock on the shelf and look again once they have it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from elasticrec.bundle.patch import make_patch
from elasticrec.bundle.writer import pack
from elasticrec.serve import facts
from elasticrec.serve.answers import Answers
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.course import Answer
from elasticrec.serve.kept import Kept
from elasticrec.serve.locks import Locks
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.models import Served
from elasticrec.serve.once import Once
from elasticrec.serve.problems import Problem
from elasticrec.serve.store import Store
from elasticrec.space.budget import Budget

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Point:
    """One step of a model's curve."""

    step: int
    """Its budget in bytes."""
    file_bytes: int
    """The bundle's length."""
    estimate: float
    """Estimated quality."""
    searched: bool
    """Whether the search has been there; else this is what greedy keeps, a lower bound."""


class Shelf:
    """The bundles of all models on one host."""

    def __init__(self, config: ServeConfig, metrics: Metrics) -> None:
        root = config.shelf
        self._config, self._metrics = config, metrics
        self._locks = Locks(root / "locks")
        self.store = Store(root / "files", config.shelf_bytes, self._locks, metrics)
        self.answers = Answers(root / "answers")
        self._once = Once(
            config.searches, config.waiting, config.search_seconds, config.retry_seconds
        )

    async def bundle_for(self, model: Served, budget: Budget) -> Kept:
        """The bundle of the largest step within a budget, made now if it must be."""
        step = model.steps.below(budget.n_bytes)
        if step is None:
            least = model.steps.sizes[0]
            raise Problem(
                "budget-too-small",
                f"a budget of {budget.n_bytes} bytes, the smallest possible is {least}",
                smallest_budget=least,
            )
        found = self._found(model, step)
        if found is not None:
            self._metrics.hits.add()
            return found
        self._metrics.misses.add()
        return await self._once.do(f"{model.version}-{step}", partial(self.make, model, step))

    async def upgrade(self, old: str, new: str) -> Kept:
        """The patch from one bundle to another, given by their hashes; made now if it must be."""
        name = f"{old}-{new}.patch"
        models = []
        for sha256 in (old, new):
            bundle = self.store.find(f"{sha256}.elastic")
            if bundle is None:
                raise Problem("unknown-file", f"no bundle {sha256} is on the shelf")
            models.append(bundle.about["model_id"])
        if models[0] != models[1]:
            detail = f"{old} is of model {models[0]}, {new} of model {models[1]}"
            raise Problem("different-models", detail)
        found = self.store.find(name)
        if found is not None:
            return found
        return await self._once.do(name, partial(self._make_patch, name, old, new))

    def make(self, model: Served, step: int) -> Kept:
        """The bundle of a step, searched and packed here unless another process did meanwhile."""
        with self._locks.held(f"{model.version}-{step}"):
            found = self._found(model, step)
            if found is not None:
                return found
            answer = self._searched(model, step)
            started = time.perf_counter()
            kept = self._packed(model, step, answer)
            self.answers.put(model.version, step, answer, kept.sha256)
        seconds = time.perf_counter() - started
        self._metrics.packs.add(1, model.name)
        self._metrics.pack_seconds.observe(seconds)
        about = {"model": model.name, "step": step, "sha256": kept.sha256}
        log.info("bundle made", extra=about | {"search_s": answer.seconds, "pack_s": seconds})
        return kept

    def plan(self, model: Served, step: int) -> None:
        """Search a step that nobody asked for yet; nothing is packed."""
        with self._locks.held(f"{model.version}-{step}"):
            self._searched(model, step)

    async def plan_next(self, model: Served) -> bool:
        """Whether there was a step left to search, and nobody was waiting for anything else."""
        if not self._once.is_idle:
            return True
        for step in model.steps.sizes:
            if self.answers.answer(model.version, step) is None:
                key = f"plan-{model.version}-{step}"
                await self._once.do(key, partial(self.plan, model, step))
                return True
        return False

    def curve(self, model: Served) -> list[Point]:
        """What each step gives: as searched, or what greedy keeps where no search was yet."""
        points = []
        menu, accounting = model.course.searcher.menu, model.material.accounting()
        for step in model.steps.sizes:
            found = self.answers.answer(model.version, step)
            if found is None:
                composition, estimate = model.course.within(step)
            else:
                composition, estimate = menu.compose(np.array(found.rows)), found.estimate
            file_bytes = accounting.file_bytes(composition)
            points.append(Point(step, file_bytes, estimate, found is not None))
        return points

    def put_catalogue(self, model: Served) -> None:
        """Keep the catalogue of a model on the shelf; while it is served, it does not leave."""
        name = f"{model.catalogue_sha256}.catalogue"
        if self.store.find(name) is None:
            about = {"model": model.name, "model_id": model.model_id}
            self.store.put(Kept.addressed(".catalogue", model.catalogue, about), model.catalogue)

    def close(self) -> None:
        """Start nothing more."""
        self._once.close()

    def _found(self, model: Served, step: int) -> Kept | None:
        sha256 = self.answers.bundle(model.version, step)
        return None if sha256 is None else self.store.find(f"{sha256}.elastic")

    def _searched(self, model: Served, step: int) -> Answer:
        """What was found for a step, now or before; its lock is held."""
        known = self.answers.answer(model.version, step)
        if known is not None:
            return known
        config, before = self._config, model.steps.before(step)
        answer = model.course.search(step, before, config.search, config.seed)
        self._metrics.searches.add(1, model.name)
        self._metrics.search_seconds.observe(answer.seconds)
        self.answers.put(model.version, step, answer, None)
        return answer

    def _packed(self, model: Served, step: int, answer: Answer) -> Kept:
        """The bundle of an answer, on the shelf."""
        composition = model.course.searcher.menu.compose(np.array(answer.rows))
        content = pack(model.material, composition, about=facts.inside(model, step, answer))
        about = facts.beside(model, step, answer, composition, len(content))
        return self.store.put(Kept.addressed(".elastic", content, about), content)

    def _make_patch(self, name: str, old: str, new: str) -> Kept:
        """The patch from one bundle to another, on the shelf."""
        with self._locks.held(name):
            found = self.store.find(name)
            if found is not None:
                return found
            contents = []
            for sha256 in (old, new):
                content = self.store.read(f"{sha256}.elastic")
                if content is None:
                    raise Problem("unknown-file", f"no bundle {sha256} is on the shelf")
                contents.append(content)
            patch = make_patch(*contents)
            self._metrics.patches.add()
            return self.store.put(Kept.of(name, patch, {"old": old, "new": new}), patch)
