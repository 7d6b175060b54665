"""The ladder that items climb, and the simple orders of climbing it.

A level of the ladder is one more column or one more neighbour. `all alike` climbs level by level;
`popular first` lets the most popular items climb some levels ahead of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticrec.errors import InputError
from elasticrec.ordering.order import COLUMN, SLOT, Order

Level = tuple[int, int]
"""(kind, which): one more column, or one more slot."""


@dataclass(frozen=True)
class OrderConfig:
    """The few degrees of freedom of an order."""

    columns_per_slot: float = 8.0
    """A neighbour comes with every so many columns; fewer suit data where lists say much."""
    lead: int = 0
    """Levels by which popular items are ahead of the others; 0 is `all alike`."""
    share: float = 0.25
    """Share of the items that count as popular."""
    together: int = 4
    """First levels that all items climb together: a person is a sum of what is coded."""

    def __post_init__(self) -> None:
        if not self.columns_per_slot > 0 or not 0 < self.share < 1:
            raise InputError(
                f"{self.columns_per_slot} columns per slot and a share of {self.share}, expected "
                "more than 0, and between 0 and 1"
            )
        if self.lead < 0 or self.together < 0:
            raise InputError(f"lead {self.lead}, together {self.together}: expected at least 0")

    @property
    def name(self) -> str:
        """`all alike` or `popular first`, with its settings."""
        kind = f"popular first by {self.lead}" if self.lead else "all alike"
        return f"{kind}, {self.columns_per_slot:g} columns per neighbour"


def ladder(n_columns: int, n_slots: int, columns_per_slot: float) -> list[Level]:
    """Every level from the bottom: columns in order, a slot after every so many of them."""
    out: list[Level] = []
    slots = 0
    for column in range(n_columns):
        out.append((COLUMN, column))
        while slots < n_slots and (slots + 1) * columns_per_slot <= column + 1:
            out.append((SLOT, slots))
            slots += 1
    return [*out, *((SLOT, slot) for slot in range(slots, n_slots))]


def make_order(
    n_items: int, n_columns: int, n_slots: int, config: OrderConfig, *, least: int = 2
) -> Order:
    """The order of a catalogue whose items are numbered by falling popularity.

    Args:
        least: columns that all items have in the smallest useful prefix.
    """
    levels = ladder(n_columns, n_slots, config.columns_per_slot)
    least = min(least, n_columns)
    if levels[:least] != [(COLUMN, c) for c in range(least)]:  # lists come early: columns first
        first = [(COLUMN, c) for c in range(least)]
        levels = [*first, *(level for level in levels if level not in first)]
    together = max(least, config.together if config.lead else len(levels))
    steps = [(*level, 0, n_items) for level in levels[:together]]
    rest, popular = levels[together:], round(n_items * config.share)
    for at in range(len(rest) + config.lead):
        if at < len(rest):
            steps.append((*rest[at], 0, popular))
        if 0 <= at - config.lead:
            steps.append((*rest[at - config.lead], popular, n_items - popular))
    return Order.of_steps(n_items, steps, least)
