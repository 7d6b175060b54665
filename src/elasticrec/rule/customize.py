"""RULE on one model: measure samples (Alg. 3), fit the estimator (Eq. 4 to 6), search (Alg. 2)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.files import written_whole
from elasticrec.rule.config import RuleConfig
from elasticrec.rule.controls import uniform
from elasticrec.rule.estimator.model import Estimator
from elasticrec.rule.estimator.samples import Samples, collect
from elasticrec.rule.evolution import Found, evolve
from elasticrec.rule.free_blocks import FreeBlocks, make_groups
from elasticrec.rule.levels import Levels
from elasticrec.rule.measuring import Measure
from elasticrec.space.budget import Budget

if TYPE_CHECKING:
    from elasticrec.evaluation.measure import Person
    from elasticrec.model import Model
    from elasticrec.rule.estimator.fit import Agreement
    from elasticrec.stream.ids import StoredIds

log = logging.getLogger(__name__)
Progress = Callable[[int, int], None]
"""Called with how many samples are measured, and how many there are in all."""
_HELD_OUT = 10**6
"""The seed of held-out draws is that of the samples plus this."""


@dataclass(frozen=True, eq=False)
class Customized:
    """The composition of one budget, and what is known of it."""

    budget: Budget
    candidate: np.ndarray
    """(G,) levels, or the mask (G, N) of blocks kept."""
    counts: np.ndarray
    """(G,) levels or blocks of each group."""
    n_bytes: int
    """What it costs."""
    metric: str
    estimate: float
    """Its estimated metric."""
    measured: dict[str, float]
    """The measured metric of `chosen` and of `uniform`, all groups alike."""
    n_users: int
    """Validation users who were measured."""
    chosen_by: str
    """Why this one was taken."""
    seconds: float
    """How long search and measurement took."""

    def about(self) -> dict[str, Any]:
        """Plain facts."""
        return {
            "budget_bytes": self.budget.n_bytes,
            "n_bytes": self.n_bytes,
            "counts": self.counts.tolist(),
            "metric": self.metric,
            "estimate": self.estimate,
            "measured": self.measured,
            "validation_users": self.n_users,
            "chosen_by": self.chosen_by,
            "seconds": round(self.seconds, 2),
        }


class Rule:
    """RULE with some settings on one model."""

    def __init__(
        self,
        model: Model,
        config: RuleConfig,
        *,
        person: Person | None = None,
        device: str = "auto",
        ids: StoredIds | None = None,
    ) -> None:
        """RULE on a model.

        Args:
            person: who is measured; by default by vector where the model has users' vectors.
            ids: what a stream will store; levels count its bytes.
        """
        self.model, self.config, self.ids = model, config, ids
        self.space: FreeBlocks | Levels
        if config.space.kind == "blocks":
            table, popularity = model.table, model.split.train.per_item
            groups = make_groups(popularity, table.items, config.space)
            self.space = FreeBlocks(groups, table.n_blocks, table.block_size, config.space)
        else:
            id_bytes = 0 if ids is None else ids.payload_bytes(0, len(ids))
            self.space = Levels(model.codes, model.order, config.space, id_bytes=id_bytes)
        known = person or ("history" if model.table.users is None else "vector")
        metric = config.samples.metric
        self.measure = Measure(model, self.space, metric, person=known, device=device)
        holders = np.flatnonzero(model.split.validation.per_user)
        shuffled = np.random.default_rng(config.samples.seed).permutation(holders)
        n, more = config.samples.n_users, config.search.n_users
        self.users = np.sort(shuffled[:n])
        """Validation users on whom samples are measured."""
        others = shuffled[n : n + more]
        self.deciders = np.sort(others if len(others) >= n else shuffled[:more])
        """Validation users who decide between the best few."""

    def estimator(self, progress: Progress = lambda _done, _total: None) -> Estimator:
        """The model's estimator; samples and fit that the folder holds are not made again."""
        from elasticrec.rule.estimator.fit import fit

        model, config = self.model, self.config
        drawn = {
            **asdict(config.samples),
            "space": asdict(config.space),
            "person": self.measure.person,
        }
        n = drawn.pop("n_samples")
        blocks = config.space.kind == "blocks"
        sources = ("split", "table") if blocks else ("split", "codes", "weights", "order")
        fitted = {**asdict(config.estimator), "n_samples": n}
        if model.fresh("samples", drawn) and model.fresh("estimator", fitted):
            return Estimator.load(model.check("estimator"))
        known = Samples.load(model.check("samples")) if model.fresh("samples", drawn) else None
        samples = collect(
            self.space,
            self._sampled,
            n,
            config.samples.seed,
            known=known,
            save=lambda s: model.save_part("samples", s, made_from=sources, config=drawn),
            progress=progress,
        )
        bits = self.space.features(samples.candidates)
        estimator = fit(bits, samples.values, config.estimator)
        about = {**estimator.about, "metric": config.samples.metric, "n_samples": n}
        estimator = replace(estimator, about=about)
        model.save_part("estimator", estimator, made_from=("samples",), config=fitted)
        return estimator

    def _sampled(self, candidate: np.ndarray) -> float:
        """The mean metric of the users on whom samples are measured."""
        return float(self.measure(candidate, self.users).mean())

    def agreement(
        self, budget: Budget, n: int, progress: Progress = lambda _done, _total: None
    ) -> Agreement:
        """How estimates agree with n measured compositions of one budget, none of them fitted on.

        The total alone tells most of the quality, so an estimator is judged within a budget.
        """
        from elasticrec.rule.estimator.fit import Agreement

        estimator, seed = self.estimator(), self.config.samples.seed + _HELD_OUT
        held_out = collect(
            self.space,
            self._sampled,
            n,
            seed,
            budget=budget,
            progress=progress,
        )
        guessed = estimator.predict(self.space.features(held_out.candidates))
        return Agreement.of(guessed, held_out.values)

    def search(self, budget: Budget, estimator: Estimator, seed: int = 0) -> Found:
        """What Alg. 2 saw within a budget."""
        config, space = self.config.search, self.space
        starts = [uniform(space, budget)] if config.from_uniform else []
        return evolve(
            space,
            budget,
            lambda candidates: estimator.predict(space.features(candidates)),
            config,
            np.random.default_rng(seed),
            starts=starts,
        )

    def customize(
        self, budget: Budget, *, seed: int = 0, progress: Progress = lambda _done, _total: None
    ) -> Customized:
        """The composition for a budget."""
        self.space.check(budget)
        estimator = self.estimator(progress)
        started = time.perf_counter()
        even = uniform(self.space, budget)
        if budget >= self.space.full:
            candidate, chosen_by = even, f"everything fits: the full size is {self.space.full}"
            measured = {"chosen": self.measure(even, self.deciders)}
        else:
            found = self.search(budget, estimator, seed)
            candidate, chosen_by, measured = self._decided(found, even)
        counts = self.space.counts(candidate)
        return Customized(
            budget=budget,
            candidate=candidate,
            counts=counts,
            n_bytes=self.space.size(counts),
            metric=self.config.samples.metric,
            estimate=float(estimator.predict(self.space.features(candidate[None]))[0]),
            measured={name: float(values.mean()) for name, values in measured.items()},
            n_users=len(self.deciders),
            chosen_by=chosen_by,
            seconds=time.perf_counter() - started,
        )

    def _decided(
        self, found: Found, even: np.ndarray
    ) -> tuple[np.ndarray, str, dict[str, np.ndarray]]:
        """The candidate taken, why, and what it and `uniform` measure."""
        k = self.config.search.remeasured
        named = {f"rank {n + 1}": seen.candidate for n, seen in enumerate(found.leaders(max(k, 1)))}
        values = {name: self.measure(each, self.deciders) for name, each in named.items()}
        values["uniform"] = self.measure(even, self.deciders)
        named["uniform"] = even
        if k:
            choice: Choice = choose(
                "composition", {n: v[None] for n, v in values.items()}, "uniform"
            )
            taken, chosen_by = choice.chosen, str(choice)
        else:
            taken, chosen_by = "rank 1", "the highest estimate"
        return named[taken], chosen_by, {"chosen": values[taken], "uniform": values["uniform"]}

    def save(self, customized: Customized, path: Path | str) -> None:
        """Write what was found: a stream of levels, or an archive (`.npz`) of blocks kept."""
        if isinstance(self.space, Levels):
            self._save_stream(customized, path)
            return
        groups, about = self.space.groups, json.dumps(customized.about())
        with written_whole(path) as file:
            np.savez_compressed(
                file, kept=customized.candidate, group_of_item=groups.of_item, about=about
            )

    def _save_stream(self, customized: Customized, path: Path | str) -> None:
        """Write a stream whose whole is the composition; every runtime opens it."""
        from elasticrec.ordering.order import Order
        from elasticrec.stream.writer import Facts, write_stream

        assert isinstance(self.space, Levels)
        model = self.model
        order = Order.of_composition(self.space.composition(customized.candidate))
        facts = Facts(model.id, order.least, support=model.neighbours.min_support)
        write_stream(
            path, model.codes, model.neighbours, model.weights, order, facts=facts, ids=self.ids
        )
        written = Path(path).stat().st_size
        if written != customized.n_bytes:
            raise InputError(f"{path}: has {written} bytes, expected {customized.n_bytes}")
