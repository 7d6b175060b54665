"""Scores of one group's items under one row: all that evaluating a composition asks of a model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from elasticrec.data.errors import InputError
from elasticrec.evaluation.ranking import pick_device
from elasticrec.space.composition import F32

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.blocks.table import BlockTable, Score
    from elasticrec.data.interactions import Pairs


class RowScores(Protocol):
    """Scores of a fixed set of users; both evaluators call it alike, so that they agree bit by bit.

    An item's score may depend on its own group's row, and on nothing else of the composition.
    """

    bounds: np.ndarray
    """(G + 1,) group g holds the items `bounds[g]` to `bounds[g + 1] - 1`."""
    n_users: int
    """How many users are scored."""
    device: str
    """Where scores are computed: `cpu` or `cuda`."""

    def write(
        self, out: Tensor, group: int, depths: np.ndarray, neighbours: int, start: int, stop: int
    ) -> None:
        """Fill `out` with the scores of users start … stop - 1, -inf for items that keep nothing.

        Args:
            out: (stop - start, |V_g|) float32 on `device`; its rows need not be contiguous.
            group: g.
            depths: (N,) uint8: the row's depths.
            neighbours: how many neighbours the row keeps.
        """
        ...


class BlockScores:
    """`RowScores` of blocks kept whole or dropped (Eq. 2): one product of the kept blocks."""

    def __init__(
        self,
        blocks: np.ndarray,
        vectors: np.ndarray,
        bounds: np.ndarray,
        *,
        score: Score = "aligned",
        width_correction: bool = False,
        device: str = "cpu",
    ) -> None:
        """Scores of users with the given vectors.

        Args:
            blocks: (V, N, d) item blocks, groups one after the other.
            vectors: (U, D) user vectors.
            bounds: (G + 1,) where each group starts.
            score: `aligned` or `tiled`.
            width_correction: divide by |B_g|. Eq. 2 multiplies by max|B| / |B_g|; the numerator is
                the same for all items, so it never changes a ranking.
            device: `auto`, `cpu` or `cuda`.
        """
        V, N, d = blocks.shape
        if len(vectors) and vectors.shape[1] != N * d:
            raise InputError(f"user vectors of {vectors.shape[1]} numbers, expected {N} × {d}")
        if bounds[0] != 0 or bounds[-1] != V:
            raise InputError(f"groups span items {bounds[0]} to {bounds[-1]}, expected 0 to {V}")
        self.device = pick_device(device)
        self.bounds = np.asarray(bounds)
        self.n_users = len(vectors)
        self._aligned = score == "aligned"
        self._width_correction = width_correction
        by_block = torch.from_numpy(np.ascontiguousarray(blocks.transpose(1, 0, 2)))
        by_block = by_block.to(self.device, torch.float32)  # (N, V, d)
        spans = pairwise(self.bounds.tolist())
        self._blocks = [[by_block[n, lo:hi] for n in range(N)] for lo, hi in spans]
        users = torch.from_numpy(np.array(vectors, dtype=np.float32).reshape(-1, N, d))
        users = users.to(self.device)
        self._users = list(users.unbind(1)) if self._aligned else [users.sum(1)]

    @classmethod
    def of_table(
        cls,
        table: BlockTable,
        bounds: np.ndarray,
        users: np.ndarray,
        train: Pairs,
        *,
        width_correction: bool = False,
        device: str = "cpu",
    ) -> BlockScores:
        """Scores of some users of a table; one without user vectors folds them in from train."""
        known = table.users
        vectors = table.fold_in(train.rows(users)) if known is None else known[users]
        return cls(
            table.blocks,
            vectors,
            bounds,
            score=table.score,
            width_correction=width_correction,
            device=device,
        )

    def write(
        self, out: Tensor, group: int, depths: np.ndarray, neighbours: int, start: int, stop: int
    ) -> None:
        """Fill `out` (stop - start, |V_g|) with the scores of one group under one row."""
        kept = np.flatnonzero(depths).tolist()
        if neighbours or any(depths[n] != F32 for n in kept):
            raise InputError(
                f"a row of depths {depths.tolist()} and {neighbours} neighbours; blocks without "
                f"codes can only be dropped (0) or kept whole ({F32}), without neighbours"
            )
        if not kept:
            out.fill_(-torch.inf)
            return
        mine = self._blocks[group]
        if self._aligned:
            users = torch.cat([self._users[n][start:stop] for n in kept], dim=1)  # (u, |B|·d)
            items = torch.cat([mine[n] for n in kept], dim=1)  # (|V_g|, |B|·d)
        else:
            users = self._users[0][start:stop]  # (u, d)
            items = torch.stack([mine[n] for n in kept]).sum(0)  # (|V_g|, d)
        scale = 1 / len(kept) if self._width_correction else 1.0
        torch.addmm(out, users, items.T, beta=0, alpha=scale, out=out)
