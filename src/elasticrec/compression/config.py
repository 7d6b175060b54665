"""CompressionConfig: everything that decides how a table is compressed."""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticrec.errors import InputError


@dataclass(frozen=True)
class LinearConfig:
    """Settings by which voters are chosen and weighed.

    The defaults suit late validation of three data sets (experiments/neighbours.py); Amazon-Book
    alone would have a target power of 0.3, Gowalla and Yelp2018 one of 0.
    """

    candidates: int = 40
    """M, or k where that is more: co-occurring items among which an item's voters are chosen."""
    ridge: float = 60.0
    """λ in persons: what it costs to trust a voter whom few persons have."""
    user_power: float = 0.25
    """A person with n items counts 1/n to this power."""
    target_power: float = 0.2
    """Weights for an item that n persons have are divided by n to this power."""
    voter_power: float = 0.4
    """Candidates are the items that co-occur most, each divided by its popularity to this power."""
    one_by_one: int = 16
    """So many voters of an item are chosen one by one, which is slow and best for short lists."""
    together: int = 16
    """So many of those behind them are chosen together."""

    def __post_init__(self) -> None:
        if min(self.one_by_one, self.together) < 1:
            found = f"{self.one_by_one} voters one by one, {self.together} together"
            raise InputError(f"{found}: expected at least one")
        if self.candidates < 1 or not self.ridge > 0:
            raise InputError(
                f"{self.candidates} candidates and ridge {self.ridge}, "
                "expected at least one and above 0"
            )


@dataclass(frozen=True)
class CompressionConfig:
    """Settings of codes and neighbour lists; equal settings, table and seed give equal codes."""

    most_residual: int = 16
    """Columns of whole codewords, at most."""
    fewest_residual: int = 2
    """Columns of whole codewords, at least: they make the smallest useful prefix."""
    codebook_bytes: float = 1.25
    """Bytes per item that all residual codebooks together may take; small catalogues have fewer."""
    stages: int = 6
    """Stages of the sub-vector codebook: each codes every block once more."""
    points: int = 16_384
    """Items, or blocks, that a codebook is fitted to."""
    rounds: int = 8
    """Alternations of naming codewords and least squares."""
    kmeans_rounds: int = 20
    """Rounds of k-means, which finds the first codewords of a residual codebook."""
    codeword_ridge: float = 1e-3
    """Ridge of these least squares, in points: it settles how two halves share their mean."""
    first_sign: float = 0.8
    """The first codewords of sub-vectors give each number its sign times this, by unit spread."""
    unit_items: int = 4096
    """Items, evenly spread, on whose decoded lengths the unit of scores is set."""
    unit_quantile: float = 0.01
    """Quantile of these lengths whose factor just fits a byte; shorter vectors count for less."""
    linear: LinearConfig = field(default_factory=LinearConfig)
    """The linear model that fills neighbour lists."""
    vote_span: tuple[float, float] = (0.05, 0.999)
    """Quantiles of the neighbours' weights at which the lowest and the highest vote stand."""
    shortest_list: int = 16
    """Neighbours per item that any catalogue may have."""
    longest_list: int = 64
    """Neighbours per item, at most."""
    items_per_neighbour: int = 256
    """Lists hold one neighbour per so many items, but no fewer than `shortest_list`."""
    min_support: int = 5
    """Distinct persons that must have both an item and its neighbour; fewer reveal more of each."""
    seed: int = 0
    """Draws what codebooks are fitted to."""

    def __post_init__(self) -> None:
        for name in ("fewest_residual", "points", "rounds", "kmeans_rounds", "codeword_ridge",
                     "first_sign", "unit_items", "longest_list", "shortest_list",
                     "items_per_neighbour", "min_support"):  # fmt: skip
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("most_residual", "codebook_bytes", "stages", "seed"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.longest_list > 64:
            raise InputError(f"lists of {self.longest_list} neighbours, expected at most 64")
        low, high = self.vote_span
        if not (0 <= low < high <= 1 and 0 <= self.unit_quantile <= 1):
            raise InputError(
                f"vote_span {self.vote_span}, unit_quantile {self.unit_quantile}: expected shares, "
                "the span rising"
            )

    def residual_columns(self, n_items: int, dimensions: int) -> int:
        """Columns of whole codewords that a catalogue of so many items pays for."""
        affordable = int(self.codebook_bytes * n_items / (32 * dimensions))
        return min(self.most_residual, max(self.fewest_residual, affordable))

    def slots(self, n_items: int) -> int:
        """S: the length of the neighbour lists, a power of two from the shortest list on."""
        wanted = max(
            self.shortest_list, 1 << max(n_items // self.items_per_neighbour, 1).bit_length() - 1
        )
        return min(wanted, self.longest_list)
