"""Finding the order of a model: vote weights, how often lists come, how far popular items lead.

Each of these few choices is measured on validation persons, by what a device ranks with, at several
sizes; a candidate replaces the default only by a clear paired lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours, VoteWeight
from elasticrec.data.split import Split
from elasticrec.evaluation.choosing import Choice, choose, outward
from elasticrec.evaluation.measure import Person, measure
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.evaluation.ranking import holders
from elasticrec.ordering.order import Order, OrderConfig, Spacing, cut, make_order, prefix_bytes
from elasticrec.settings import Chance, Count, Positive, Power, Range, Seed, Settings
from elasticrec.space import Composition


@dataclass(frozen=True, repr=False)
class OrderSearchConfig(Settings):
    """Candidates and measurements of the order."""

    order: OrderConfig = field(default_factory=OrderConfig)
    """The default order, which a candidate must clearly lead."""
    columns_per_slot: tuple[Spacing, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    """Candidates for how often a neighbour comes, tried from the default outwards."""
    leads: tuple[Annotated[int, Range(0, 1000)], ...] = (0, 1, 2, 3, 4, 6)
    """Candidates for how far popular items lead, tried outwards; 0 is `all alike`."""
    vote_weight: Positive = 5e-4
    """The default vote weight beside no codes at all, per unit of a vote's value."""
    vote_power: Power = 0.5
    """Default power: votes count less as codes get better."""
    vote_multiples: tuple[Positive, ...] = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
    """Candidates for the vote weight, as multiples of the default."""
    vote_powers: tuple[Power, ...] = (0.125, 0.25, 0.5, 0.75, 1.0)
    """Candidates for the power."""
    vote_floor: Chance = 0.02
    """Share of a vector that no code is believed to tell, so that votes never lose all weight."""
    vote_columns_per_slot: Spacing = 4.0
    """Columns per neighbour of what vote weights are measured on; small, so that all have lists."""
    vote_grid: Annotated[int, Range(2, 1000)] = 7
    """Weights measured at each size; between them a person's metric is interpolated."""
    sizes: tuple[Positive, ...] = (3, 4, 6, 11, 20, 33, 54, 110)
    """Bytes per item at which candidates are measured, those without a useful prefix left out."""
    vote_sizes: tuple[Positive, ...] = (6, 20, 54, 110, 270)
    """Bytes per item at which vote weights are measured."""
    n_persons: Count = 10_000
    """Validation persons, at most; and at most half of all, so that others are left."""
    fewest_persons: Count = 5_000
    """Where half of all are fewer than this, so many: fewer tell candidates apart badly."""
    metric: str = "recall@50"
    """The metric that counts."""
    doubt: Chance = 0.025
    """Chance by which a candidate may replace a default where none is better."""
    seed: Seed = 0
    """Draws the persons."""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_metric(self.metric)


@dataclass(frozen=True, eq=False)
class FoundOrder:
    """An order, its vote weights, and the choices that led to them."""

    order: Order
    config: OrderConfig
    weights: np.ndarray
    """(C + 1, 2) by columns and kind of person."""
    choices: list[Choice]


Report = Callable[[str], None]


def find_order(
    codes: Codes,
    neighbours: Neighbours,
    split: Split,
    config: OrderSearchConfig,
    *,
    least: int = 2,
    vectors: np.ndarray | None = None,
    device: str = "auto",
    report: Report = lambda _: None,
) -> FoundOrder:
    """The order and the vote weights of a model, chosen on validation persons.

    Args:
        vectors: (U, D) server vectors, rotated as the codes are, where the model has users.
    """
    holders(split)  # refuses a split without validation
    search = _Search(codes, neighbours, split, config, least, vectors, device, report)
    person: Person = "history" if vectors is None else "vector"
    own, choice = search.vote_weight(person)
    other, chosen = own, [choice]
    if vectors is not None:
        other, choice = search.vote_weight("history")
        chosen.append(choice)
    weights = np.stack([weight.at(codes.cosines) for weight in (other, own)], axis=1)
    order, more_choices = search.order(weights, person)
    return FoundOrder(search.make(order), order, weights, chosen + more_choices)


class _Search:
    """The measurements behind the choices."""

    def __init__(
        self, codes: Codes, neighbours: Neighbours, split: Split, config: OrderSearchConfig,
        least: int, vectors: np.ndarray | None, device: str, report: Report,
    ) -> None:  # fmt: skip
        self.codes, self.neighbours, self.split, self.config = codes, neighbours, split, config
        self.least, self.vectors, self.device, self.report = least, vectors, device, report
        self.users = some_persons(split, config.n_persons, config.fewest_persons, config.seed)

    def make(self, order: OrderConfig) -> Order:
        """The order of some settings."""
        codes = self.codes
        slots = self.neighbours.slots
        return make_order(codes.n_items, codes.n_columns, slots, order, least=self.least)

    def values(
        self, order: OrderConfig, weights: np.ndarray, sizes: Sequence[float], person: Person
    ) -> np.ndarray:
        """(B, n) the metric of every person at those bytes per item that have a useful prefix."""
        made, V = self.make(order), self.codes.n_items
        least = prefix_bytes(made, self.codes)[made.least - 1]
        useful = [size for size in sizes if size * V >= least] or [max(sizes)]
        cuts = (cut(made, self.codes, size * V) for size in useful)
        return np.stack([self.value(found, weights, person) for found in cuts])

    def value(self, composition: Composition, weights: np.ndarray, person: Person) -> np.ndarray:
        """(n,) the metric of every person, ranked by one composition."""
        found = measure(
            self.codes, self.neighbours, weights, composition, self.split, users=self.users,
            person=person, vectors=self.vectors, metrics=(self.config.metric,), device=self.device,
        )  # fmt: skip
        return found.per_user[self.config.metric]

    def vote_weight(self, person: Person) -> tuple[VoteWeight, Choice]:
        """The vote weight of one kind of person: scale and power together.

        At each size a few weights are measured, and the candidates' are read off between them.
        """
        config, cosines = self.config, self.codes.cosines
        multiples = sorted({1.0, *config.vote_multiples})
        powers = sorted({config.vote_power, *config.vote_powers})
        candidates = {
            f"{multiple:g} x, power {power:g}": VoteWeight(
                config.vote_weight * multiple, power, config.vote_floor
            )
            for multiple in multiples
            for power in powers
        }
        made = self.make(
            replace(config.order, lead=0, columns_per_slot=config.vote_columns_per_slot)
        )
        rows: dict[str, list[np.ndarray]] = {name: [] for name in candidates}
        for size in config.vote_sizes:
            composition = cut(made, self.codes, size * self.codes.n_items)
            columns = int(np.median(composition.columns))
            wanted = np.log([weight.at(cosines)[columns] for weight in candidates.values()])
            grid = np.linspace(wanted.min(), wanted.max(), config.vote_grid)
            self.report(f"{len(grid)} vote weights at {size:g} bytes per item")
            measured = []
            for log_weight in grid:
                table = np.full((len(cosines), 2), np.exp(log_weight), dtype=np.float32)
                measured.append(self.value(composition, table, person))
            for name, log_weight in zip(candidates, wanted, strict=True):
                rows[name].append(_between(grid, np.stack(measured), float(log_weight)))
        default = f"1 x, power {config.vote_power:g}"
        values = {name: np.stack(found) for name, found in rows.items()}
        choice = choose(f"vote weight, {person}", values, default, doubt=config.doubt)
        return candidates[choice.chosen], choice

    def order(self, weights: np.ndarray, person: Person) -> tuple[OrderConfig, list[Choice]]:
        """Choose the columns per neighbour, then the lead of popular items."""
        best, choices = self.config.order, []
        for name in ("columns_per_slot", "lead"):
            best, choice = self._setting(best, name, weights, person)
            choices.append(choice)
        return best, choices

    def _setting(
        self, best: OrderConfig, name: str, weights: np.ndarray, person: Person
    ) -> tuple[OrderConfig, Choice]:
        """The best order with one setting chosen."""
        config, default = self.config, getattr(best, name)
        options = {"columns_per_slot": config.columns_per_slot, "lead": config.leads}[name]

        def changed(value: float) -> OrderConfig:
            return replace(best, **{name: type(default)(value)})

        def measured(value: float) -> np.ndarray:
            order = changed(value)
            self.report(order.name)
            return self.values(order, weights, config.sizes, person)

        values = outward(measured, default, options)
        choice = choose(name, values, f"{default:g}", doubt=config.doubt)
        return changed(float(choice.chosen)), choice


def _between(grid: np.ndarray, values: np.ndarray, at: float) -> np.ndarray:
    """(n,) values (m, n), known at the points of a rising grid (m,), interpolated at one point."""
    high = int(np.clip(np.searchsorted(grid, at), 1, len(grid) - 1))
    gap = grid[high] - grid[high - 1]
    share = (at - grid[high - 1]) / gap if gap > 0 else 0.0
    return np.asarray((1 - share) * values[high - 1] + share * values[high])


def some_persons(split: Split, n: int, fewest: int, seed: int) -> np.ndarray:
    """At most n users with validation items, drawn by a seed, in rising order.

    They are at most half of all, so that others can tell what was chosen; where half are fewer than
    `fewest`, so many.
    """
    able = np.flatnonzero(split.validation.per_user > 0)
    n = min(n, max(fewest, len(able) // 2))
    if len(able) > n:
        able = np.sort(np.random.default_rng([seed, 7]).choice(able, n, replace=False))
    return able
