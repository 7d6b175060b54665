"""Quality of rows against the weight of votes, each row given to all groups alike, or to some.

A weight changes the scores of voted items only, so the dense scores and their best are shared by
all weights, and ranks are counted, never sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.coding.mixing import PERSONS, Mixing
from elasticrec.evaluation.arithmetic import full_precision, single_thread
from elasticrec.evaluation.compositions import mean_metric, user_chunks
from elasticrec.evaluation.device_path import device_scores
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.evaluation.persons import folded_vectors
from elasticrec.evaluation.toplist import hide
from elasticrec.evaluation.voted_ranks import VotedRanks
from elasticrec.evaluation.votes import Cast
from elasticrec.space.composition import Composition

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.evaluation.coded import CodedModel, CodedScores
    from elasticrec.evaluation.questions import Questions


@dataclass(frozen=True)
class Beside:
    """What some groups keep while others try a row."""

    row: int
    """Their row of the menu."""
    weight: float
    """What a vote counts under it."""
    n_groups: int
    """How many groups keep it: the first ones."""


class WeightCurves:
    """Quality of rows against the weight of votes, given to all groups or beside a row."""

    def __init__(
        self,
        model: CodedModel,
        asked: Questions,
        person: str,
        by_root: bool,
        metric: str,
        device: str,
        beside: Beside | None = None,
    ) -> None:
        """Curves of a model's rows for the persons asked about.

        Args:
            beside: what the first groups keep; None where all groups try a row.
        """
        self._beside = beside or Beside(0, 0.0, 0)
        weights = np.zeros((model.menu.n_rows, len(PERSONS)))
        weights[self._beside.row] = self._beside.weight
        model = replace(model, mixing=Mixing(weights, by_root))
        self._model, self._asked, self._person, self._metric = model, asked, person, metric
        self._scores = device_scores(model, None, asked, person, device=device)
        self._factors = vote_factors(asked, by_root, self._scores.device)

    def of_rows(self, rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """(n, W) the metric of some rows of the menu under every weight."""
        menu = self._model.menu
        quality = np.zeros((len(rows), len(grid)))
        _, dense_of = np.unique(menu.depths[rows], axis=0, return_inverse=True)
        for dense in np.unique(dense_of).tolist():
            places = np.flatnonzero(dense_of == dense)
            depths, counts = menu.depths[rows[places[0]]], menu.neighbours[rows[places]]
            if not depths.any():
                places, counts = places[counts > 0], counts[counts > 0]  # nothing has no quality
            if not len(places):
                continue
            ranks = self._ranks(depths, counts, grid)  # (c, W, n)
            quality[places] = mean_metric(ranks, self._asked, self._metric)
        return quality

    def _ranks(self, depths: np.ndarray, counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """(c, W, n) ranks of every relevant pair under one dense row and some neighbour counts."""
        G, first = self._model.codes.n_groups, self._beside.n_groups
        kept = np.tile(depths, (G, 1))
        kept[:first] = self._model.menu.depths[self._beside.row]
        scores = self._scores
        if self._person == "history" and kept.any():
            # Without any codes she stays folded in from all planes: such a row is for some groups
            # of a composition, and the others have codes.
            whole = Composition(kept, np.zeros(G, dtype=np.uint8))
            scores = scores.with_vectors(folded_vectors(self._model, self._asked.seen, whole))
        k = parse_metric(self._metric).k
        parts = []
        with full_precision(), single_thread():
            for start, stop in user_chunks(scores):
                dense = self._without_votes(scores, depths, start, stop)
                some = np.arange(start, stop)
                seen, relevant = self._asked.seen.rows(some), self._asked.relevant.rows(some)
                hide(dense, torch.from_numpy(seen.indptr), torch.from_numpy(seen.items))
                users, items = (
                    torch.from_numpy(each.astype(np.int64)).to(scores.device)
                    for each in (relevant.users, relevant.items)
                )
                voted = VotedRanks(dense, users, items, k)
                mine = self._factors[start:stop]
                found = [
                    voted.under(self._votes(scores, int(count), start, stop), mine, grid)
                    for count in counts
                ]
                parts.append(np.stack(found))
        return np.concatenate(parts, axis=2)

    def _without_votes(
        self, scores: CodedScores, depths: np.ndarray, start: int, stop: int
    ) -> Tensor:
        """(u, V) scores before the groups that try a row vote; the others have voted."""
        out = scores.all_dense(depths, start, stop)
        menu, row = self._model.menu, self._beside.row
        for g in range(self._beside.n_groups):
            lo, hi = (int(bound) for bound in scores.bounds[g : g + 2])
            count = int(menu.neighbours[row])
            scores.write(out[:, lo:hi], g, menu.depths[row], count, start, stop)
        return out

    def _votes(self, scores: CodedScores, count: int, start: int, stop: int) -> Cast:
        """Votes for items of the groups that try a row."""
        cast = scores.all_votes(count, start, stop)
        mine = cast.items >= int(scores.bounds[self._beside.n_groups])
        return Cast(cast.users[mine], cast.items[mine], cast.votes[mine])


def even_weight(
    model: CodedModel, asked: Questions, person: str, by_root: bool, device: str
) -> float:
    """The weight at which votes spread as widely as the dense scores of all planes."""
    scores = device_scores(model, None, asked, person, device=device)
    deepest = model.menu.depths[model.menu.depths.sum(axis=1).argmax()]
    start, stop = next(iter(user_chunks(scores)))
    dense = scores.all_dense(deepest, start, stop)
    cast = scores.all_votes(int(model.menu.neighbours.max()), start, stop)
    votes = cast.votes * vote_factors(asked, by_root, scores.device)[start:stop][cast.users]
    spread = float(votes.square().mean().sqrt()) if len(votes) else 0.0
    return float(dense.std(dim=1).mean()) / spread if spread > 0 else 1.0


def vote_factors(asked: Questions, by_root: bool, device: str) -> Tensor:
    """(n,) float64 what each person's votes are multiplied by beside the weight."""
    n = np.maximum(asked.seen.per_user, 1)
    return torch.from_numpy(1 / np.sqrt(n) if by_root else np.ones(len(n))).to(device)
