"""CompressionConfig: everything that decides how a table is compressed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from elasticrec.errors import InputError
from elasticrec.settings import Count, Positive, Power, Range, Rounds, Seed, Settings, Share, Weight


@dataclass(frozen=True, repr=False)
class LinearConfig(Settings):
    """Settings by which voters are chosen and weighed.

    The defaults suit late validation of three data sets; Amazon-Book
    alone would have a target power of 0.3, Gowalla and Yelp2018 one of 0.
    """

    candidates: Annotated[int, Range(1, 10_000)] = 40
    """M, or k where that is more: co-occurring items among which an item's voters are chosen."""
    ridge: Positive = 60.0
    """λ in persons: what it costs to trust a voter whom few persons have."""
    user_power: Power = 0.25
    """A person with n items counts 1/n to this power."""
    target_power: Power = 0.2
    """Weights for an item that n persons have are divided by n to this power."""
    voter_power: Power = 0.4
    """Candidates are the items that co-occur most, each divided by its popularity to this power."""
    one_by_one: Annotated[int, Range(1, 10_000)] = 16
    """So many voters of an item are chosen one by one, which is slow and best for short lists."""
    together: Annotated[int, Range(1, 10_000)] = 16
    """So many of those behind them are chosen together."""


@dataclass(frozen=True, repr=False)
class CompressionConfig(Settings):
    """Settings of codes and neighbour lists; equal settings, table and seed give equal codes."""

    most_residual: Annotated[int, Range(0, 64)] = 16
    """Columns of whole codewords, at most."""
    fewest_residual: Annotated[int, Range(1, 64)] = 2
    """Columns of whole codewords, at least: they make the smallest useful prefix."""
    codebook_bytes: Weight = 1.25
    """Bytes per item that all residual codebooks together may take; small catalogues have fewer."""
    stages: Annotated[int, Range(0, 16)] = 6
    """Stages of the sub-vector codebook: each codes every block once more."""
    points: Count = 16_384
    """Items, or blocks, that a codebook is fitted to."""
    rounds: Rounds = 8
    """Alternations of naming codewords and least squares."""
    kmeans_rounds: Rounds = 20
    """Rounds of k-means, which finds the first codewords of a residual codebook."""
    ranking_epochs: Annotated[int, Range(0, 1000)] = 1
    """Epochs in which the first columns are trained to rank; 0 leaves them as fitted."""
    ranking_share: Share = 0.5
    """Share of the columns of whole codewords that are trained so, but no fewer than
    `fewest_residual`; those behind them are fitted to what they leave over."""
    ranking_rate: Positive = 1e-3
    """Adam's step at the start of these epochs."""
    codeword_ridge: Positive = 1e-3
    """Ridge of these least squares, in points: it settles how two halves share their mean."""
    first_sign: Positive = 0.8
    """The first codewords of sub-vectors give each number its sign times this, by unit spread."""
    measured_items: Count = 4096
    """Items, evenly spread, on which it is measured how well and how long codes tell vectors."""
    unit_quantile: Share = 0.01
    """Quantile of their lengths whose factor just fits a byte; shorter vectors count for less."""
    linear: LinearConfig = field(default_factory=LinearConfig)
    """The linear model that fills neighbour lists."""
    vote_span: tuple[Share, Share] = (0.05, 0.999)
    """Quantiles of the neighbours' weights at which the lowest and the highest vote stand."""
    shortest_list: Annotated[int, Range(1, 64)] = 16
    """Neighbours per item that any catalogue may have."""
    longest_list: Annotated[int, Range(1, 64)] = 64
    """Neighbours per item, at most."""
    items_per_neighbour: Count = 256
    """Lists hold one neighbour per so many items, but no fewer than `shortest_list`."""
    min_support: Count = 5
    """Distinct persons that must have both an item and its neighbour; fewer reveal more of each."""
    seed: Seed = 0
    """Draws what codebooks are fitted to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.vote_span
        if low >= high:
            raise InputError(f"vote_span is {self.vote_span}, expected to rise")

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
