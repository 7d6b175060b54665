"""Vote weights: one smooth function of how well an item's columns tell its vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.compression.codes import Codes

PERSONS = ("history", "vector")
"""Kinds of person: known by a history alone, or by a vector from the server as well."""
_FLOOR = 0.02
"""Share of a vector that no code is believed to tell, so that votes never lose all weight."""


@dataclass(frozen=True)
class VoteWeight:
    """λ = scale · (1 - cosine + 0.02)^power, the cosine of decoded and trained vectors."""

    scale: float
    """The weight beside no codes at all."""
    power: float
    """Votes count less as codes get better; 0 is the same weight everywhere."""

    def at(self, cosines: np.ndarray) -> np.ndarray:
        """(C + 1,) float32 weights of items with 0, 1, … C columns."""
        return np.asarray(self.scale * (1 - cosines + _FLOOR) ** self.power, dtype=np.float32)


def code_cosines(codes: Codes, items: np.ndarray, *, sample: int = 2048) -> np.ndarray:
    """(C + 1,) mean cosine of decoded and trained vectors, by number of columns; the first is 0.

    Args:
        items: (V, D) vectors of the table, not rotated.
        sample: how many items, evenly spread, are looked at.
    """
    some = np.arange(0, codes.n_items, max(1, codes.n_items // sample))
    trained = items[some] @ codes.rotation
    trained = trained / np.maximum(np.linalg.norm(trained, axis=1, keepdims=True), 1e-12)
    out = np.zeros(codes.n_columns + 1)
    y = np.zeros(trained.shape, dtype=np.int32)
    for c in range(codes.n_columns):
        codes.add_column(y, c, codes.data[c, some])
        lengths = np.maximum(np.linalg.norm(y, axis=1), 1e-12)
        out[c + 1] = float((np.einsum("nd,nd->n", y, trained) / lengths).mean())
    return np.maximum.accumulate(np.clip(out, 0, 1))
