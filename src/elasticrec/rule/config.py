"""SearchConfig: the settings of the evolutionary search."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elasticrec.errors import InputError
from elasticrec.rule.mutation import MUTATIONS

STARTS = ("uniform", "greedy")
"""Controls that a first population may contain."""
CHANCE = 0.03
"""The share by which what contains another composition may seem worse and yet count as no worse.

More bits and more neighbours hardly ever hurt; that an estimate says so is mostly chance, and
estimators err by so much. With less, budgets were left half unspent.
"""
SURE = 0.005
"""The share by which measured quality must lead that of a start; thousands of users err by less."""
FLAT, REST = 0.002, 0.1
"""Where the last tenth of a budget adds a smaller share of quality, it goes to all items evenly."""


@dataclass(frozen=True)
class SearchConfig:
    """How long and how widely to search; the defaults are the paper's P, S and C."""

    population: int = 20
    """P: candidates kept alive."""
    tournament: int = 5
    """S: candidates drawn with replacement, the best of which becomes a parent."""
    rounds: int = 50
    """C: rounds of breeding."""
    children: int = 1
    """Children per round, estimated together; 1 is the paper's."""
    mutations: tuple[str, ...] = ("swap", "reselect", "move")
    """Which mutations breed, each equally likely."""
    starts: tuple[str, ...] = STARTS
    """Controls that the first population contains beside random candidates."""
    margin: float = 0.0
    """The share by which an estimate must beat the best start's, or that start is returned.

    Less than an estimator's own error says nothing, and a start follows no chance in it."""
    refine: int = 0
    """How many of the best are re-ranked by real evaluation, the starts beside them; 0: none.

    There an even start is returned unless another leads it, by the margin or by `SURE`."""

    def __post_init__(self) -> None:
        for name in ("population", "tournament", "rounds", "children"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("refine", "margin"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must be 0 or more, got {getattr(self, name)}")
        for name, known in (("mutations", tuple(MUTATIONS)), ("starts", STARTS)):
            odd = [value for value in getattr(self, name) if value not in known]
            if odd:
                raise InputError(f"{name} has {odd[0]!r}, expected some of {', '.join(known)}")
        if not self.mutations:
            raise InputError(f"no mutations, expected some of {', '.join(MUTATIONS)}")

    @classmethod
    def printed(cls, population: int = 20, tournament: int = 5, rounds: int = 50) -> SearchConfig:
        """The search as the paper prints it: two mutations, a first population drawn at random."""
        return cls(population, tournament, rounds, mutations=("swap", "reselect"), starts=())

    def measured(self) -> SearchConfig:
        """The same search where every candidate is measured.

        Nothing is left to refine and less to doubt; and no start is greedy, which would be measured
        step by step.
        """
        starts = tuple(name for name in self.starts if name != "greedy")
        return replace(self, refine=0, margin=min(self.margin, SURE), starts=starts)

    @property
    def n_candidates(self) -> int:
        """How many candidates the search looks at."""
        return self.population + self.rounds * self.children
