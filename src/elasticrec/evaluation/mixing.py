"""Fitting mixing weights: how much votes count beside codes, by menu row and kind of person.

For each row, given to all groups alike, a grid of weights is tried on validation users. The test
part is never read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.coding.mixing import PERSONS, Mixing
from elasticrec.data.errors import InputError
from elasticrec.evaluation.compositions import validation_questions
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.evaluation.questions import evened
from elasticrec.evaluation.weight_curves import Beside, WeightCurves, even_weight

if TYPE_CHECKING:
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
    even: float = 0.0
    """The share of weight spread evenly over groups of items, see `evaluation.questions`."""
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
    beside: np.ndarray
    """(2, R, W) the same of sparse rows where popular groups keep a dense one; NaN elsewhere."""


def fit_mixing(
    model: CodedModel,
    split: Split,
    config: MixingConfig,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> FittedMixing:
    """The weights that are best on validation, for every row of a model's menu.

    A weight is first chosen as if all groups kept its row. But rows of few or no planes are for
    the less popular groups of a composition, and alone among their like any weight will do, or one
    far too large: theirs are chosen again while the popular half keeps a row of denser codes.
    A model without user vectors has the same weights for both kinds of person.

    Args:
        model: its own mixing weights are not read.
    """
    asked = _asked(model, split, config)
    persons = PERSONS if model.users is not None else PERSONS[1:]
    R = model.menu.n_rows
    total = R * (2 * len(persons) + 1)
    tell = progress or (lambda *_: None)
    first = _by_root(model, asked, config, device)
    tell(R, total)
    by_root = bool(first[True][1] > first[False][1])
    grid = first[by_root][0]
    quality = np.full((len(PERSONS), R, len(grid)), np.nan)
    for person in persons:
        curves = WeightCurves(model, asked, person, by_root, config.metric, device)
        quality[PERSONS.index(person)] = curves.of_rows(np.arange(R), grid)
        tell(R, total)
    weights = _chosen(quality, grid, model.menu.neighbours)
    beside = np.full(quality.shape, np.nan)
    reference, sparse = _reference(model)
    for person in persons:
        if len(sparse):
            column = PERSONS.index(person)
            half = Beside(reference, float(weights[reference, column]), model.codes.n_groups // 2)
            curves = WeightCurves(model, asked, person, by_root, config.metric, device, half)
            beside[column, sparse] = curves.of_rows(sparse, grid)
        tell(R, total)
    again = _chosen(np.where(np.isnan(beside), quality, beside), grid, model.menu.neighbours)
    return FittedMixing(Mixing(again, by_root), grid, quality, beside)


def votes_quality(
    model: CodedModel, split: Split, config: MixingConfig, *, device: str = "cpu"
) -> float:
    """What a model's neighbours reach: the mean over rows with the usual count, each at its best.

    Of several sources of neighbours, the one with the highest is the best on validation.
    """
    asked = _asked(model, split, config)
    return max(quality for _, quality in _by_root(model, asked, config, device).values())


def _asked(model: CodedModel, split: Split, config: MixingConfig) -> Questions:
    """What is asked of the validation users."""
    asked = validation_questions(split, config.n_users, np.random.default_rng(config.seed))
    return evened(asked, model.codes.bounds, config.even)


def _by_root(
    model: CodedModel, asked: Questions, config: MixingConfig, device: str
) -> dict[bool, tuple[np.ndarray, float]]:
    """Without and with division by √n: a grid of weights, and the mean quality of some rows."""
    person = model.person
    rows = np.flatnonzero(model.menu.neighbours == _usual_count(model))
    found = {}
    for by_root in (False, True):
        grid = _grid(even_weight(model, asked, person, by_root, device), config)
        curves = WeightCurves(model, asked, person, by_root, config.metric, device)
        found[by_root] = grid, float(curves.of_rows(rows, grid).max(axis=1).mean())
    return found


def _reference(model: CodedModel) -> tuple[int, np.ndarray]:
    """The row that popular groups keep, and the rows with votes that are sparser than it.

    It is the sparsest that has a plane for every block, or else the densest there is, with the
    usual number of neighbours, or else the most below it.
    """
    menu = model.menu
    planes = menu.depths.sum(axis=1, dtype=np.int64)
    enough = planes[planes >= menu.n_blocks]
    wanted = int(enough.min()) if len(enough) else int(planes.max())
    rows = np.flatnonzero((planes == wanted) & (menu.neighbours <= _usual_count(model)))
    if model.codes.n_groups < 2 or not wanted or not len(rows):
        return 0, np.zeros(0, dtype=np.int64)
    reference = int(rows[menu.neighbours[rows].argmax()])
    return reference, np.flatnonzero((planes < wanted) & (menu.neighbours > 0))


def _usual_count(model: CodedModel) -> int:
    """The number of neighbours that most rows of the menu have, rows without any aside."""
    counts = model.menu.neighbours[model.menu.neighbours > 0]
    return int(np.bincount(counts).argmax()) if len(counts) else 0


def _grid(unit: float, config: MixingConfig) -> np.ndarray:
    """(W + 1,) 0, and powers of two times the unit, two thirds of them above it."""
    powers = np.arange(config.n_weights) - config.n_weights // 3
    return np.concatenate(([0.0], unit * 2.0**powers))


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
