"""Fitting mixing weights: how much votes count beside codes, by menu row and kind of person.

For each row, given to all groups alike, a grid of weights is tried on validation users. A weight
changes the scores of voted items only, so the dense scores and their best are shared by the whole
grid, and ranks are counted, never sorted. The test part is never read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.coding.mixing import PERSONS, Mixing
from elasticrec.data.errors import InputError
from elasticrec.evaluation.arithmetic import full_precision, single_thread
from elasticrec.evaluation.compositions import user_chunks, validation_questions
from elasticrec.evaluation.device_path import device_scores
from elasticrec.evaluation.metrics import metrics_from_ranks, parse_metric
from elasticrec.evaluation.persons import folded_vectors
from elasticrec.evaluation.toplist import hide
from elasticrec.evaluation.voted_ranks import VotedRanks
from elasticrec.space.composition import Composition

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.data.splitting import Split
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.questions import Questions

FLAT = 0.001
"""Qualities that differ by less than this share count as equal."""
Progress = Callable[[int, int], None]
"""Called with how many rows were just finished, and how many there are in all."""


@dataclass(frozen=True)
class MixingConfig:
    """On what weights are fitted, and among which."""

    n_users: int = 2_000
    """Validation users, drawn by the seed."""
    metric: str = "recall@50"
    """What is to be highest."""
    n_weights: int = 12
    """Weights on the grid beside 0, each twice the one before."""
    seed: int = 0
    """Decides the users."""

    def __post_init__(self) -> None:
        parse_metric(self.metric)
        if self.n_users < 1 or self.n_weights < 1 or self.seed < 0:
            raise InputError(
                f"{self.n_users} users, {self.n_weights} weights, seed {self.seed}: expected at "
                "least 1, 1 and 0"
            )


@dataclass(frozen=True, eq=False)
class FittedMixing:
    """Weights, and what they were chosen by."""

    mixing: Mixing
    """The chosen ones."""
    grid: np.ndarray
    """(W,) the weights tried, 0 first."""
    quality: np.ndarray
    """(2, R, W) the metric by kind of person, row and weight; NaN for a kind not tried."""


def fit_mixing(
    model: CodedModel,
    split: Split,
    config: MixingConfig,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> FittedMixing:
    """The weights that are best on validation, for every row of a model's menu.

    A model without user vectors has the same weights for both kinds of person.

    Args:
        model: its own mixing weights are not read.
    """
    rng = np.random.default_rng(config.seed)
    asked = validation_questions(split, config.n_users, rng)
    persons = PERSONS if model.users is not None else PERSONS[1:]
    tell = progress or (lambda *_: None)
    R = model.menu.n_rows
    tried = np.flatnonzero(model.menu.neighbours == _usual_count(model))
    total = len(tried) + len(persons) * R
    units = {root: _unit(model, asked, persons[0], root, device) for root in (False, True)}
    grids = {root: _grid(units[root], config) for root in units}
    found = {}
    for root, grid in grids.items():
        curve = _Curves(model, asked, persons[0], root, config.metric, device)
        found[root] = curve.of_rows(tried, grid).max(axis=1).sum()
    tell(len(tried), total)
    by_root = bool(found[True] > found[False])
    grid = grids[by_root]
    quality = np.full((len(PERSONS), R, len(grid)), np.nan)
    for person in persons:
        curves = _Curves(model, asked, person, by_root, config.metric, device)
        quality[PERSONS.index(person)] = curves.of_rows(np.arange(R), grid)
        tell(R, total)
    return FittedMixing(
        Mixing(_chosen(quality, grid, model.menu.neighbours), by_root), grid, quality
    )


def _usual_count(model: CodedModel) -> int:
    """The number of neighbours that most rows of the menu have, rows without any aside."""
    counts = model.menu.neighbours[model.menu.neighbours > 0]
    return int(np.bincount(counts).argmax()) if len(counts) else 0


def _grid(unit: float, config: MixingConfig) -> np.ndarray:
    """(W + 1,) 0, and powers of two times the unit, two thirds of them above it."""
    powers = np.arange(config.n_weights) - config.n_weights // 3
    return np.concatenate(([0.0], unit * 2.0**powers))


def _unit(model: CodedModel, asked: Questions, person: str, by_root: bool, device: str) -> float:
    """The weight at which votes spread as widely as the dense scores of all planes."""
    scores = device_scores(model, None, asked, person, device=device)
    deepest = model.menu.depths[model.menu.depths.sum(axis=1).argmax()]
    start, stop = next(iter(user_chunks(scores)))
    dense = scores.all_dense(deepest, start, stop)
    cast = scores.all_votes(int(model.menu.neighbours.max()), start, stop)
    votes = cast.votes * _factors(asked, by_root, scores.device)[start:stop][cast.users]
    spread = float(votes.square().mean().sqrt()) if len(votes) else 0.0
    return float(dense.std(dim=1).mean()) / spread if spread > 0 else 1.0


def _factors(asked: Questions, by_root: bool, device: str) -> Tensor:
    """(n,) float64 what each person's votes are multiplied by beside the weight."""
    n = np.maximum(asked.seen.per_user, 1)
    return torch.from_numpy(1 / np.sqrt(n) if by_root else np.ones(len(n))).to(device)


class _Curves:
    """Quality of rows, each given to all groups alike, against the weight of votes."""

    def __init__(
        self,
        model: CodedModel,
        asked: Questions,
        person: str,
        by_root: bool,
        metric: str,
        device: str,
    ) -> None:
        self._model, self._asked, self._person, self._metric = model, asked, person, metric
        self._scores = device_scores(model, None, asked, person, device=device)
        self._factors = _factors(asked, by_root, self._scores.device)

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
            indptr = self._asked.relevant.indptr
            found = metrics_from_ranks(ranks, indptr, [self._metric])[self._metric]
            quality[places] = found.mean(axis=-1)
        return quality

    def _ranks(self, depths: np.ndarray, counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """(c, W, n) ranks of every relevant pair under one dense row and some neighbour counts."""
        G = self._model.codes.n_groups
        alike = Composition(np.tile(depths, (G, 1)), np.zeros(G, dtype=np.uint8))
        scores = self._scores
        if self._person == "history" and depths.any():
            # Without codes she stays folded in from all planes: such a row is for some groups of a
            # composition, and the others have codes.
            scores = scores.with_vectors(folded_vectors(self._model, self._asked.seen, alike))
        k = parse_metric(self._metric).k
        parts = []
        with full_precision(), single_thread():
            for start, stop in user_chunks(scores):
                dense = scores.all_dense(depths, start, stop)
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
                    voted.under(scores.all_votes(int(count), start, stop), mine, grid)
                    for count in counts
                ]
                parts.append(np.stack(found))
        return np.concatenate(parts, axis=2)


def _chosen(quality: np.ndarray, grid: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """(R, 2) the best weight of every row and kind of person, from quality (2, R, W)."""
    weights = np.zeros((quality.shape[1], len(PERSONS)))
    for p, curves in enumerate(quality):
        known = quality[1] if np.isnan(curves).any() else curves
        for row in np.flatnonzero(neighbours):
            weights[row, p] = best_weight(known[row], grid)
    return weights


def best_weight(curve: np.ndarray, grid: np.ndarray) -> float:
    """The weight at the top of a curve (W,), between the points of the grid (0 and powers of 2).

    Neighbouring points differ by chance, so three are looked at together; where the top is flat,
    as without codes, its lowest weight is taken, which suits groups that do have codes.
    """
    smooth = curve.copy()
    smooth[2:-1] = (curve[1:-2] + 2 * curve[2:-1] + curve[3:]) / 4
    place = int(np.argmax(smooth >= (1 - FLAT) * smooth.max()))
    if not 1 < place < len(grid) - 1:
        return float(grid[place])
    left, top, right = smooth[place - 1 : place + 2]
    if right >= (1 - FLAT) * top:
        return float(grid[place])
    shift = (left - right) / (2 * (left - 2 * top + right))  # of the parabola through the three
    return float(grid[place] * 2.0 ** np.clip(shift, -0.5, 0.5))
