"""CompressionConfig: everything that decides how a table is compressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elasticrec.errors import InputError


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
    neighbours: Literal["linear", "cooccurrence"] = "linear"
    """Source of the neighbour lists: a sparse linear model, or plain co-occurrence."""
    longest_list: int = 64
    """Neighbours per item, at most."""
    items_per_neighbour: int = 256
    """Lists hold one neighbour per so many items of the catalogue, but no fewer than 16."""
    min_support: int = 3
    """Distinct persons that must have both an item and its neighbour; fewer reveal more of each."""
    recencies: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    """Candidates, beside 0, for how much less older items of a history weigh."""
    recency_persons: int = 5_000
    """Validation persons on whom the recency is chosen, at most."""
    metric: str = "recall@50"
    """The metric by which the recency is chosen."""
    seed: int = 0
    """Draws what codebooks are fitted to, and the persons."""

    def __post_init__(self) -> None:
        for name in ("fewest_residual", "points", "rounds", "longest_list", "items_per_neighbour",
                     "min_support", "recency_persons"):  # fmt: skip
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        if not all(recency >= 0 for recency in self.recencies):
            raise InputError(f"recencies are {self.recencies}, expected none below 0")
        for name in ("most_residual", "codebook_bytes", "stages", "seed"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.longest_list > 64:
            raise InputError(f"lists of {self.longest_list} neighbours, expected at most 64")
        if self.neighbours not in ("linear", "cooccurrence"):
            raise InputError(f"neighbours by {self.neighbours!r}, expected linear or cooccurrence")

    def residual_columns(self, n_items: int, dimensions: int) -> int:
        """Columns of whole codewords that a catalogue of so many items pays for."""
        affordable = int(self.codebook_bytes * n_items / (32 * dimensions))
        return min(self.most_residual, max(self.fewest_residual, affordable))

    def slots(self, n_items: int) -> int:
        """S: the length of the neighbour lists, a power of two from 16 on."""
        wanted = max(16, 1 << max(n_items // self.items_per_neighbour, 1).bit_length() - 1)
        return min(wanted, self.longest_list)
