"""Finding the order of a model: vote weights, how often lists come, how far popular items lead.

Each of these few choices is measured on validation persons, by what a device ranks with, over a
geometric ladder of sizes; a candidate replaces the default only by a clear paired lead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.compression.vote_weights import VoteWeight, code_cosines
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import Choice, choose
from elasticrec.evaluation.measure import Person, measure
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.ordering.ladder import OrderConfig, make_order
from elasticrec.ordering.order import Order
from elasticrec.ordering.sizes import cut

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OrderSearchConfig:
    """Candidates and measurements of the order."""

    order: OrderConfig = field(default_factory=OrderConfig)
    """The default order, which a candidate must clearly lead."""
    columns_per_slot: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    """Candidates for how often a neighbour comes."""
    leads: tuple[int, ...] = (0, 2, 4, 8)
    """Candidates for how far popular items lead; 0 is `all alike`."""
    vote_weight: float = 8e-5
    """The default vote weight, per unit of a vote's value."""
    vote_steps: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    """Candidates for the vote weight, as multiples of the default."""
    vote_powers: tuple[float, ...] = (0.0, 0.25, 0.5)
    """Candidates for how much less votes count as codes get better."""
    sizes: tuple[float, ...] = (4, 6, 11, 20, 33, 54, 110)
    """Bytes per item at which candidates are measured."""
    vote_sizes: tuple[float, ...] = (11, 33, 54)
    """Bytes per item at which vote weights are measured."""
    n_persons: int = 5_000
    """Validation persons, drawn by the seed."""
    metric: str = "recall@50"
    """The metric that counts."""
    seed: int = 0
    """Draws the persons."""

    def __post_init__(self) -> None:
        parse_metric(self.metric)
        least = dict.fromkeys(("columns_per_slot", "vote_steps", "sizes", "vote_sizes"), 1e-9)
        least |= {"n_persons": 1, "leads": 0, "vote_powers": 0, "vote_weight": 0, "seed": 0}
        for name, low in least.items():
            values = np.ravel(getattr(self, name))
            if not len(values) or not values.min() >= low:
                expected = "positive numbers" if low else "0 or more"
                raise InputError(f"{name} is {getattr(self, name)}; expected {expected}")


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
    items: np.ndarray,
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
        items: (V, D) trained vectors, not rotated.
        least: columns of the smallest useful prefix.
        vectors: (U, D) server vectors, rotated as the codes are, where the model has users.
    """
    search = _Search(codes, neighbours, split, config, least, vectors, device, report)
    cosines = code_cosines(codes, items)
    person: Person = "history" if vectors is None else "vector"
    if not len(search.users):
        raise InputError(f"{split.name}: nobody has validation items, so no order can be chosen")
    own, chosen = search.vote_weight(cosines, person)
    other = own
    if vectors is not None:
        other, more = search.vote_weight(cosines, "history")
        chosen += more
    weights = np.stack([other.at(cosines), own.at(cosines)], axis=1)
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
        self.users = some_persons(split, config.n_persons, config.seed)

    def make(self, order: OrderConfig) -> Order:
        """The order of some settings."""
        codes = self.codes
        slots = self.neighbours.slots
        return make_order(codes.n_items, codes.n_columns, slots, order, least=self.least)

    def values(
        self, order: OrderConfig, weights: np.ndarray, sizes: Iterable[float], person: Person
    ) -> np.ndarray:
        """(B, n) the metric of every person at several bytes per item."""
        made, rows = self.make(order), []
        for size in sizes:
            found = measure(
                self.codes,
                self.neighbours,
                weights,
                cut(made, self.codes, size * self.codes.n_items),
                self.split,
                users=self.users,
                person=person,
                vectors=self.vectors,
                metrics=(self.config.metric,),
                device=self.device,
            )
            assert found.per_user is not None
            rows.append(found.per_user[self.config.metric])
        return np.stack(rows)

    def vote_weight(self, cosines: np.ndarray, person: Person) -> tuple[VoteWeight, list[Choice]]:
        """The vote weight of one kind of person: its scale, then its power."""
        config = self.config
        plain = replace(config.order, lead=0)

        def measured(weight: VoteWeight) -> np.ndarray:
            table = np.stack([weight.at(cosines)] * 2, axis=1)
            self.report(f"vote weight {weight.scale:.1e}, power {weight.power:g}")
            return self.values(plain, table, config.vote_sizes, person)

        scales = {f"{s:g}": VoteWeight(config.vote_weight * s, 0.0) for s in config.vote_steps}
        first = choose(f"vote weight, {person}", {n: measured(w) for n, w in scales.items()}, "1")
        scale = scales[first.chosen].scale
        middle = float(np.median(1 - cosines + 0.02))
        powers = {f"{p:g}": VoteWeight(scale / middle**p, p) for p in config.vote_powers}
        second = choose(f"vote power, {person}", {n: measured(w) for n, w in powers.items()}, "0")
        return powers[second.chosen], [first, second]

    def order(self, weights: np.ndarray, person: Person) -> tuple[OrderConfig, list[Choice]]:
        """How often lists come, then how far popular items lead."""
        config, choices = self.config, []
        best = config.order
        wanted: tuple[tuple[str, tuple[float, ...]], ...] = (
            ("columns_per_slot", config.columns_per_slot),
            ("lead", config.leads),
        )
        for name, options in wanted:
            default = f"{getattr(best, name):g}"
            kind = type(getattr(best, name))
            orders = {f"{x:g}": replace(best, **{name: kind(x)}) for x in options}
            orders.setdefault(default, best)
            values = {}
            for candidate, order in orders.items():
                self.report(order.name)
                values[candidate] = self.values(order, weights, config.sizes, person)
            choices.append(choose(name, values, default))
            best = orders[choices[-1].chosen]
        return best, choices


def some_persons(split: Split, n: int, seed: int, part: str = "validation") -> np.ndarray:
    """At most n users with items in a part, drawn by a seed, in rising order."""
    able = np.flatnonzero(getattr(split, part).per_user > 0)
    if len(able) > n:
        able = np.sort(np.random.default_rng([seed, 7]).choice(able, n, replace=False))
    return able
