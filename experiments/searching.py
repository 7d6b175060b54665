"""RULE's search on one trained table, without a model folder: samples, estimator, Alg. 2.

What `elasticrec.rule` does one measurement at a time is done here with blocks and histories that
stay on the device. A sample's Recall needs no lists, only the score that the last of a list has.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.data.split import Split
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.evaluation.ranking import (
    Evaluation,
    Part,
    evaluate_vectors,
    holders,
    pick_device,
    queries_of,
)
from elasticrec.rule.config import RuleConfig, SamplesConfig
from elasticrec.rule.estimator import Estimator, agreement, fit
from elasticrec.rule.evolution import evolve, leaders
from elasticrec.rule.free_blocks import FreeBlocks, make_groups
from elasticrec.rule.samples import Samples, collect
from elasticrec.space import Budget
from elasticrec.training.table import BlockTable, folded

CHUNK = 32
"""Neighbouring items of which only the best is looked at first."""
HELD_OUT = 10**6
"""The seed of compositions that judge an estimator is that of the samples plus this."""


class Elastic:
    """A table whose groups of items keep some of their blocks, for users with a server vector."""

    def __init__(self, split: Split, table: BlockTable, config: RuleConfig, device: str) -> None:
        assert table.users is not None
        self.split, self.table, self.config = split, table, config
        group = make_groups(split.train.per_item, table.items, config.space)
        self.space = FreeBlocks(group, table.n_blocks, table.block_size, config.space)
        self.device = pick_device(device)
        self.blocks = torch.from_numpy(table.blocks.copy()).to(self.device)
        self.group = torch.from_numpy(group).long().to(self.device)

    def items(self, candidate: np.ndarray) -> Tensor:
        """(V, D) items, or (V, d) if tiled, whose products with users are the scores of Eq. 2."""
        kept = torch.from_numpy(candidate).to(self.device)
        items = self.blocks * kept[self.group][:, :, None]
        items = items.sum(dim=1) if self.table.score == "tiled" else items.flatten(1)
        if self.table.cosine:  # trained by directions, so what is kept counts by its direction
            return normalize(items, dim=1)
        width = kept.sum(dim=1)
        return items * (width.max() / width)[self.group][:, None]

    def users(self, numbers: np.ndarray) -> np.ndarray:
        """(n, D) users as they meet items, or (n, d) if tiled."""
        assert self.table.users is not None
        return folded(self.table.users[numbers], self.table)

    def measured(
        self, candidate: np.ndarray, part: Part, metrics: tuple[str, ...],
        users: np.ndarray | None = None,
    ) -> Evaluation:  # fmt: skip
        """Metrics of a candidate on the users of a part."""
        asked = queries_of(self.split, part, users)
        return evaluate_vectors(
            self.users(asked.users), self.items(candidate), asked, metrics=metrics,
            device=self.device,
        )  # fmt: skip

    @cached_property
    def sampled(self) -> Sampled:
        """The users on whom samples are measured."""
        return Sampled(self, self.config.samples)

    def samples(self, n: int, path: Path, budget: Budget | None = None) -> Samples:
        """The first n draws, measured; those that a file holds are not measured again."""
        known = Samples.load(path) if path.exists() else None
        seed = self.config.samples.seed + (HELD_OUT if budget else 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        more = known is None or len(known) < n
        return collect(
            self.space, self.sampled.recall, n, seed, known=known, budget=budget,
            save=lambda found: found.save(path) if more else None,
        )  # fmt: skip

    def fitted(self, samples: Samples) -> Estimator:
        """The estimator that samples give."""
        return fit(self.space.features(samples.candidates), samples.values, self.config.estimator)

    def agreement(self, estimator: Estimator, held_out: Samples) -> dict[str, float]:
        """Agreement of estimates with measurements that were not fitted on."""
        guessed = estimator.predict(self.space.features(held_out.candidates))
        return agreement(guessed, held_out.values)

    def search(self, budget: Budget, estimator: Estimator, seed: int) -> np.ndarray:
        """Alg. 2's choice within a budget, by estimates alone."""
        space, config = self.space, replace(self.config.search, from_uniform=False)
        cache = evolve(
            space, budget, lambda some: estimator.predict(space.features(some)), config,
            np.random.default_rng(seed),
        )  # fmt: skip
        return leaders(cache, 1)[0].candidate


class Sampled:
    """Some validation users, whose mean Recall a candidate is measured by."""

    def __init__(self, elastic: Elastic, config: SamplesConfig) -> None:
        metric = parse_metric(config.metric)
        if metric.name != "recall":
            raise ValueError(f"samples are measured by {config.metric}, expected recall")
        self.elastic, self.k = elastic, metric.k
        rng = np.random.default_rng(config.seed)
        able = rng.permutation(holders(elastic.split))[: config.n_users]
        asked = queries_of(elastic.split, "validation", np.sort(able))
        where, V = elastic.device, elastic.split.n_items
        self.numbers = asked.users
        self.persons = torch.from_numpy(elastic.users(asked.users)).to(where)
        self.width = -(-V // CHUNK) * CHUNK
        sought, n = asked.relevant, len(asked.users)
        self.row = torch.from_numpy(sought.users.astype(np.int64)).to(where)
        self.sought = self._places(sought.users, sought.items)
        self.hidden = self._places(asked.seen.users, asked.seen.items)
        self.worth = 1.0 / (torch.bincount(self.row, minlength=n)[self.row].double() * n)
        self.scores = torch.empty(n, self.width, device=where)

    def _places(self, rows: np.ndarray, items: np.ndarray) -> Tensor:
        flat = rows.astype(np.int64) * self.width + items.astype(np.int64)
        return torch.from_numpy(flat).to(self.elastic.device)

    def recall(self, candidate: np.ndarray) -> float:
        """The mean Recall@k of a candidate."""
        items, V = self.elastic.items(candidate), self.elastic.split.n_items
        torch.matmul(self.persons, items.T, out=self.scores[:, :V])
        self.scores[:, V:] = -torch.inf
        flat = self.scores.view(-1).index_fill_(0, self.hidden, -torch.inf)
        found = flat[self.sought]
        listed = (found >= self._last()[self.row]) & (found > -torch.inf)
        return float((listed * self.worth).sum())

    def _last(self) -> Tensor:
        """(n,) the score of the last item of each list.

        A list's items are in the chunks whose best are highest, as many as the list has items.
        """
        chunks = self.scores.view(len(self.scores), -1, CHUNK)
        few = self.scores
        if chunks.shape[1] > self.k:
            best = chunks.amax(dim=2).topk(self.k, dim=1, sorted=False).indices
            few = chunks.gather(1, best[:, :, None].expand(-1, -1, CHUNK)).flatten(1)
        return few.topk(min(self.k, few.shape[1]), dim=1, sorted=False).values.amin(dim=1)
