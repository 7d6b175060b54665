"""Ranking for users who are known by their history alone, by any item vectors and any lists.

All of it runs on the GPU where there is one: a person is the sum of the directions of her items as
they are decoded, and adds the votes that they cast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import (
    Evaluation,
    Part,
    evaluate_scores,
    pick_device,
    queries_of,
    users_at_once,
)
from experiments.streams import METRICS


@dataclass(frozen=True, eq=False)
class Votes:
    """Who votes for whom, by voter: the transpose of lists."""

    start: Tensor
    """(V + 1,) where the votes of each item begin."""
    target: Tensor
    """(n,) whom they are for."""
    worth: Tensor
    """(n,) float32."""

    @classmethod
    def of(cls, voters: Tensor, worth: Tensor) -> Votes:
        """The votes of lists (V, k): numbers of voters, and what each vote is worth, 0 for none."""
        target, slot = (worth > 0).nonzero(as_tuple=True)
        voter, order = voters[target, slot].sort(stable=True)
        counts = torch.bincount(voter, minlength=len(voters))
        start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return cls(start, target[order], worth[target, slot][order])

    @classmethod
    def of_neighbours(cls, lists: Neighbours, k: int, device: str) -> Votes:
        """The votes of the first k neighbours of each item, the highest worth 1."""
        worth = lists.values[lists.votes[:, :k]].astype(np.float32)
        worth[lists.votes[:, :k] == 0] = 0
        worth /= max(float(worth.max()), 1.0)
        voters = lists.numbers[:, :k].astype(np.int64)
        return cls.of(torch.from_numpy(voters).to(device), torch.from_numpy(worth).to(device))


class Ranker:
    """Some users of a part, whose lists are compared."""

    def __init__(
        self, split: Split, part: Part, users: np.ndarray | None, device: str,
        recency: float = 0.0, popularity: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Users of a split.

        Args:
            recency: an item of a history that a others followed weighs 1 / (1 + recency · a).
            popularity: (V,) factors of the scores of vectors.
        """
        self.asked, self.device = queries_of(split, part, users), pick_device(device)
        history = split.train.rows(self.asked.users)
        self.indptr = torch.from_numpy(history.indptr)
        self.items = torch.from_numpy(history.items.astype(np.int64)).to(self.device)
        weights = torch.from_numpy(history.csr(recency).data).to(self.device)
        rows = torch.from_numpy(history.users.astype(np.int64)).to(self.device)
        self.rows, self.n_items = rows, split.n_items
        shape = (history.n_users, split.n_items)
        self.histories = torch.sparse_coo_tensor(
            torch.stack([rows, self.items]), weights, shape, check_invariants=False
        ).coalesce()
        counts = np.sqrt(np.maximum(history.per_user, 1)).astype(np.float32)
        self.scale = torch.from_numpy(1 / counts).to(self.device)
        factors = np.ones(split.n_items) if popularity is None else popularity
        self.factors = torch.from_numpy(factors.astype(np.float32)).to(self.device)

    def evaluate(
        self, vectors: Tensor | None = None, votes: Votes | None = None, weight: float = 1.0,
        metrics: Sequence[str] = METRICS,
    ) -> Evaluation:  # fmt: skip
        """Metrics by the cosines of vectors (V, k), by votes, or by both."""
        persons, items = None, None
        if vectors is not None:
            persons, items = self.matrices(vectors)
        size = users_at_once(self.n_items, self.device)
        scores = torch.zeros(min(size, len(self.asked.users)), self.n_items, device=self.device)

        def score(start: int, stop: int) -> Tensor:
            out = scores[: stop - start]
            if persons is None or items is None:
                out.zero_()
            else:
                torch.matmul(persons[start:stop], items.T, out=out)
            if votes is not None:
                self._add(out, votes, weight, start, stop)
            return out

        return evaluate_scores(
            score, self.asked, metrics=metrics, batch_size=size, device=self.device
        )

    def matrices(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Persons (n, k) and items (V, k) whose products are the scores of vectors (V, k)."""
        units = normalize(vectors.to(self.device), dim=1)
        persons = normalize(torch.sparse.mm(self.histories, units), dim=1)
        return persons, units * self.factors[:, None]

    def by_popularity(self, popularity: np.ndarray) -> Evaluation:
        """Metrics of the same list for everyone."""
        values = torch.from_numpy(popularity.astype(np.float32)).to(self.device)
        return evaluate_scores(
            lambda start, stop: values.repeat(stop - start, 1), self.asked, metrics=METRICS,
            batch_size=users_at_once(self.n_items, self.device), device=self.device,
        )  # fmt: skip

    def _add(self, scores: Tensor, votes: Votes, weight: float, start: int, stop: int) -> None:
        """Add what the histories of some users vote, over the root of their lengths."""
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        voters, rows = self.items[first:last], self.rows[first:last] - start
        begins = votes.start[voters]
        counts = votes.start[voters + 1] - begins
        ends = counts.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        at = torch.arange(total, device=self.device)
        at += torch.repeat_interleave(begins - ends + counts, counts)
        rows = torch.repeat_interleave(rows, counts)
        values = votes.worth[at] * self.scale[start:stop][rows] * weight
        scores.view(-1).index_add_(0, rows * self.n_items + votes.target[at], values)


def recall(found: Evaluation) -> float:
    """The metric by which rivals' settings are chosen."""
    value: Any = found.metrics["recall@50"]
    return float(value)
