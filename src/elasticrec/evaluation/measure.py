"""Measuring a composition: the quality of exactly what a device ranks with.

Persons are sums of the vectors that the composition decodes, as on the device, and items are scored
by the same whole numbers. Only the rounding of a device's tables to 16 bits is left out, which the
order of a list hardly ever shows; a test holds both lists against each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from elasticrec.engine import map_shards, ranges
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import (
    Evaluation,
    Part,
    as_tensor,
    evaluate_scores,
    pick_device,
    queries_of,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from torch import Tensor

    from elasticrec.compression.codes import Codes
    from elasticrec.compression.neighbours import Neighbours
    from elasticrec.data.interactions import Pairs
    from elasticrec.data.split import Split
    from elasticrec.space import Composition

Person = Literal["history", "vector"]
_LARGEST = 32_767
"""A person's numbers are rounded to whole ones up to this."""
_ITEMS_AT_ONCE = 1 << 13


def measure(
    codes: Codes, neighbours: Neighbours | None, weights: np.ndarray, composition: Composition,
    split: Split, *, part: Part = "validation", users: np.ndarray | None = None,
    person: Person = "history", vectors: np.ndarray | None = None,
    metrics: Iterable[str] = ("recall@50",), device: str = "auto",
) -> Evaluation:  # fmt: skip
    """Evaluate a composition on the relevant items of a part, by exact ranking.

    Args:
        weights: (C + 1, 2) vote weights, for persons known by history and by vector.
        part: whose pairs are relevant; histories are train alone, on every part.
        users: numbers of the users to evaluate; by default everyone.
        vectors: (U, D) server vectors, rotated as the codes are, for `person="vector"`.
    """
    asked = queries_of(split, part, users)
    scorer = Scorer(codes, composition, device=device)
    history, known = split.train.rows(asked.users), None
    if person == "vector":
        if vectors is None:
            raise InputError("persons by vector need their vectors; this model has none")
        known = vectors[asked.users].astype(np.float16)
    votes = None if neighbours is None else Votes(neighbours, weights, composition, person)
    return evaluate_scores(
        partial(_scores, scorer, history, known, votes), asked, metrics=metrics,
        device=scorer.device,
    )  # fmt: skip


def _scores(
    scorer: Scorer, history: Pairs, vectors: np.ndarray | None, votes: Votes | None,
    start: int, stop: int,
) -> Tensor:  # fmt: skip
    """(stop - start, V) the scores of the users start … stop - 1."""
    rows = history.rows(np.arange(start, stop))
    if vectors is None:
        persons = scorer.persons(rows)
    else:
        persons = scorer.rounded(vectors[start:stop].astype(np.float64))
    return scorer.listed(persons, rows, votes)


class Scorer:
    """The items of a composition as one matrix, and persons as a device makes them of it."""

    def __init__(self, codes: Codes, composition: Composition, *, device: str = "auto") -> None:
        if composition.n_items != codes.n_items:
            raise InputError(
                f"a composition of {composition.n_items:,} items, codes of {codes.n_items:,}"
            )
        self.codes, self.composition, self.device = codes, composition, pick_device(device)
        self.scale = codes.unit * 128.0
        self.y = np.empty((codes.n_items, codes.dimensions), dtype=np.int32)
        self.lengths = np.empty(codes.n_items)
        self.items = np.empty(self.y.shape, dtype=np.float32)
        parts = ranges(np.ones(codes.n_items), _ITEMS_AT_ONCE)
        for _ in map_shards(Scorer._decode, parts, self, threads=True, here=True):
            pass

    def _decode(self, part: tuple[int, int]) -> None:
        """Fill in what is known of some items."""
        some = slice(*part)
        counts = self.composition.columns[some]
        y = self.y[some] = self.codes.decode(some, counts)
        self.lengths[some] = lengths = np.sqrt(np.square(y, dtype=np.float64).sum(axis=1))
        factors = self.codes.factors(lengths, np.arange(*part), counts)
        self.items[some] = y * (factors / self.scale)[:, None]

    @cached_property
    def _items(self) -> Tensor:
        return as_tensor(self.items, self.device)

    def persons(self, histories: Pairs) -> Tensor:
        """(n, D) persons known by history: sums of the unit vectors of their items.

        A history without any code is the person of whom nothing is known.
        """
        from scipy.sparse import csr_matrix

        some, places = np.unique(histories.items, return_inverse=True)
        lengths = self.lengths[some]
        units = self.y[some] / np.where(lengths > 0, lengths, 1)[:, None]
        data = np.ones(len(histories))
        ages = histories.ages() if self.codes.recency else None
        if ages is not None:
            data /= 1.0 + self.codes.recency * ages
        shape = (histories.n_users, len(units))
        taken = csr_matrix((data, places, histories.indptr), shape=shape)
        sums = np.asarray(taken @ units)
        coded = np.asarray(taken @ (self.composition.columns[some] > 0).astype(np.float64))
        sums[coded == 0] = self.codes.empty
        return self.rounded(sums)

    def rounded(self, p: np.ndarray) -> Tensor:
        """(n, D) unit vectors of persons, rounded to whole numbers as on a device."""
        import torch

        most = np.abs(p).max(axis=1, keepdims=True)
        q = np.where(most > 0, np.floor(p / np.where(most > 0, most, 1) * _LARGEST + 0.5), 0)
        q /= np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1)
        return torch.from_numpy(q.astype(np.float32)).to(self.device)

    def scores(self, persons: Tensor) -> Tensor:
        """(n, V) scores without votes: cosines, times how popular and how well told items are."""
        return persons @ self._items.T

    def listed(self, persons: Tensor, histories: Pairs, votes: Votes | None) -> Tensor:
        """(n, V) scores with votes, and -inf for items that have neither a column nor a slot."""
        import torch

        scores = self.scores(persons)
        if votes is not None:
            found = votes.of(histories).tocoo()
            at = torch.from_numpy(found.row.astype(np.int64) * scores.shape[1] + found.col)
            worth = torch.from_numpy(found.data.astype(np.float32))
            scores.view(-1).index_add_(0, at.to(scores.device), worth.to(scores.device))
        unlisted = torch.as_tensor(~self.composition.listable, device=self.device)
        return scores.masked_fill_(unlisted, -np.inf)


class Votes:
    """The lists of a composition as one sparse matrix of weighted votes."""

    def __init__(
        self, neighbours: Neighbours, weights: np.ndarray, composition: Composition, person: Person
    ) -> None:
        from scipy.sparse import csr_matrix

        chosen = neighbours.votes.copy()
        chosen[np.arange(neighbours.slots) >= composition.slots[:, None]] = 0
        target, slot = np.nonzero(chosen)
        worth = neighbours.values[chosen[target, slot]].astype(np.float64)
        worth *= weights[composition.columns[target], int(person == "vector")]
        voter = neighbours.numbers[target, slot].astype(np.int64)
        V = neighbours.n_items
        self.lists = csr_matrix((worth.astype(np.float32), (voter, target)), shape=(V, V))

    def of(self, histories: Pairs) -> csr_matrix:
        """(n, V) what histories vote: sums over their items, divided by √ of how many."""
        from scipy.sparse import diags

        scale = 1 / np.sqrt(np.maximum(histories.per_user, 1)).astype(np.float32)
        return (diags(scale) @ (histories.csr() @ self.lists)).tocsr()
