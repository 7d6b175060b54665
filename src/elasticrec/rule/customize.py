"""RULE on one model: measure samples (Alg. 3), fit the estimator (Eq. 4 to 6), search (Alg. 2)."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import choose
from elasticrec.evaluation.ranking import holders
from elasticrec.files import written_whole
from elasticrec.rule.config import RuleConfig
from elasticrec.rule.estimator import Estimator, agreement, fit
from elasticrec.rule.evolution import Seen, evolve, leaders
from elasticrec.rule.free_blocks import FreeBlocks, make_groups
from elasticrec.rule.levels import Levels
from elasticrec.rule.samples import Measure, Samples, collect
from elasticrec.rule.search_space import uniform
from elasticrec.space import Budget

if TYPE_CHECKING:
    from elasticrec.model import Model

log = logging.getLogger(__name__)
_HELD_OUT = 10**6
"""The seed of held-out draws is that of the samples plus this."""


@dataclass(frozen=True, eq=False)
class Customized:
    """The composition of one budget, and what is known of it."""

    candidate: np.ndarray
    """(G,) levels, or the mask (G, N) of blocks kept."""
    counts: list[int]
    """Levels or blocks of each group."""
    budget_bytes: int
    n_bytes: int
    """Bytes of the composition."""
    metric: str
    estimate: float
    """Its estimated metric."""
    measured: dict[str, float]
    """The measured metric of `chosen` and of `uniform`, all groups alike."""
    validation_users: int
    """How many were measured."""
    chosen_by: str
    """Why this one was taken."""
    seconds: float
    """Duration of search and measurement."""

    def about(self) -> dict[str, Any]:
        """Plain facts."""
        return {name: value for name, value in vars(self).items() if name != "candidate"}


class Rule:
    """RULE with some settings on one model."""

    def __init__(self, model: Model, config: RuleConfig, *, device: str = "auto") -> None:
        self.model, self.config = model, config
        self.space: FreeBlocks | Levels
        if config.space.kind == "blocks":
            table, popularity = model.table, model.split.train.per_item
            groups = make_groups(popularity, table.items, config.space)
            self.space = FreeBlocks(groups, table.n_blocks, table.block_size, config.space)
        elif model.table.score == "tiled":
            raise InputError("tiled scores (Eq. 2 as printed) have no stream, expected --printed")
        else:
            self.space = Levels(model.codes, model.order, config.space)
        self.measure = Measure(model, self.space, config.samples.metric, device)
        able = holders(model.split)
        shuffled = np.random.default_rng(config.samples.seed).permutation(able)
        n, more = config.samples.n_users, config.search.n_users
        self.users = np.sort(shuffled[:n])
        """Validation users on whom samples are measured."""
        others = shuffled[n : n + more]
        self.deciders = np.sort(others if len(others) >= n else shuffled[:more])
        """Validation users who decide between the best few."""

    def estimator(self) -> Estimator:
        """The model's estimator; samples and fit that the folder holds are not made again."""
        model, config = self.model, self.config
        drawn = {**asdict(config.samples), "space": asdict(config.space)}
        n = drawn.pop("n_samples")
        fitted = {**asdict(config.estimator), "n_samples": n}
        if model.fresh("samples", drawn) and model.fresh("estimator", fitted):
            return Estimator.load(model.check("estimator"))
        log.info("measuring %d compositions on %d users", n, len(self.users))
        samples = collect(
            self.space, self._sampled, n, config.samples.seed,
            known=Samples.load(model.check("samples")) if model.fresh("samples", drawn) else None,
            save=lambda s: model.save_part("samples", s, made_from=self._sources, config=drawn),
        )  # fmt: skip
        bits = self.space.features(samples.candidates)
        found = fit(bits, samples.values, config.estimator)
        about = {**found.about, "metric": config.samples.metric, "n_samples": n}
        found = replace(found, about=about)
        model.save_part("estimator", found, made_from=("samples",), config=fitted)
        return found

    @property
    def _sources(self) -> tuple[str, ...]:
        """The parts of the model that samples are measured with."""
        if isinstance(self.space, FreeBlocks):
            return "split", "table"
        return "split", "codes", "neighbours", "weights", "order"

    def _sampled(self, candidate: np.ndarray) -> float:
        """The mean metric of the users on whom samples are measured."""
        return float(self.measure(candidate, self.users).mean())

    def agreement(self, budget: Budget, n: int) -> dict[str, float]:
        """Agreement of estimates with n measured compositions of one budget, all unseen by the fit.

        The total alone tells most of the quality, so an estimator is judged within a budget.
        """
        estimator, seed = self.estimator(), self.config.samples.seed + _HELD_OUT
        held_out = collect(self.space, self._sampled, n, seed, budget=budget)
        guessed = estimator.predict(self.space.features(held_out.candidates))
        return agreement(guessed, held_out.values)

    def search(self, budget: Budget, estimator: Estimator, seed: int = 0) -> list[Seen]:
        """Alg. 2 within a budget: all candidates that it looked at."""
        config, space = self.config.search, self.space
        starts = [uniform(space, budget)] if config.from_uniform else []
        return evolve(
            space, budget, lambda candidates: estimator.predict(space.features(candidates)), config,
            np.random.default_rng(seed), starts=starts,
        )  # fmt: skip

    def customize(self, budget: Budget, *, seed: int = 0) -> Customized:
        """The composition for a budget."""
        self.space.check(budget)
        estimator = self.estimator()
        started = time.perf_counter()
        even = uniform(self.space, budget)
        if budget >= self.space.full:
            candidate, chosen_by = even, f"composition: everything, which takes {self.space.full}"
            measured = {"chosen": self.measure(even, self.deciders)}
        else:
            seen = self.search(budget, estimator, seed)
            candidate, chosen_by, measured = self._decided(seen, even)
        counts = self.space.counts(candidate)
        return Customized(
            candidate, counts.tolist(), budget.n_bytes, self.space.size(counts),
            self.config.samples.metric,
            estimate=float(estimator.predict(self.space.features(candidate[None]))[0]),
            measured={name: float(values.mean()) for name, values in measured.items()},
            validation_users=len(self.deciders), chosen_by=chosen_by,
            seconds=round(time.perf_counter() - started, 2),
        )  # fmt: skip

    def _decided(
        self, cache: list[Seen], even: np.ndarray
    ) -> tuple[np.ndarray, str, dict[str, np.ndarray]]:
        """The candidate taken, why, and what it and `uniform` measure."""
        config = self.config.search
        best = leaders(cache, max(config.remeasured, 1))
        named = {f"rank {n}": seen.candidate for n, seen in enumerate(best, start=1)}
        named["uniform"] = even
        values = {name: self.measure(each, self.deciders)[None] for name, each in named.items()}
        taken, chosen_by = "rank 1", "composition: the highest estimate"
        if config.remeasured:
            choice = choose("composition", values, "uniform", doubt=config.doubt)
            taken, chosen_by = choice.chosen, str(choice)
        return named[taken], chosen_by, {"chosen": values[taken], "uniform": values["uniform"]}

    def save(self, customized: Customized, path: Path | str) -> None:
        """Write what was found: a stream of levels, or an archive (`.npz`) of blocks kept."""
        if isinstance(self.space, FreeBlocks):
            about = json.dumps(customized.about())
            groups = self.space.group
            with written_whole(path) as file:
                kept = customized.candidate
                np.savez_compressed(file, kept=kept, group_of_item=groups, about=about)
            return
        from elasticrec.ordering.order import Order
        from elasticrec.stream.writer import write_stream_of

        order = Order.of_composition(self.space.composition(customized.candidate))
        write_stream_of(self.model, Path(path), along=order)
