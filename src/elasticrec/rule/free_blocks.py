"""FreeBlocks: each group keeps any subset of its N f32 blocks whole. The paper's search space.

Its accounting is the paper's: MB = 10^6 bytes, 4 bytes a number, vectors only, one user vector.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.groups import Groups
from elasticrec.rule.search_space import Space
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.table import BlockTable


class FreeBlocks(Space):
    """Candidates are masks (G, N) bool: B_g, the blocks that each group keeps."""

    def __init__(self, groups: Groups, n_blocks: int, block_size: int, config: SpaceConfig) -> None:
        self.groups, self.config = groups, config
        self.n_groups, self.most, self.top_up = groups.n_groups, n_blocks, config.top_up
        self.user_bytes = n_blocks * block_size * FLOAT_BYTES
        """size(u_i)."""
        self.block_bytes = groups.sizes * block_size * FLOAT_BYTES
        """(G,) size of one block E_g(n) of each group."""

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """(B,) bytes: one user vector and the blocks kept (Problem 1)."""
        total: np.ndarray = self.user_bytes + counts @ self.block_bytes
        return total

    def n_blocks(self, budget: Budget) -> int:
        """M: how many blocks of a mean group a budget holds."""
        left = (budget.n_bytes - self.user_bytes) / self.block_bytes.mean()
        return min(int(left + 1e-9), self.most * self.n_groups)

    def draw_first(self, budget: Budget, rng: np.random.Generator) -> np.ndarray:
        """(G,) s_g ~ N(μ, σ²) with μ = M/G; the printed μ is M/(G·|V_g|)."""
        mu = self.n_blocks(budget) / self.n_groups
        if self.config.printed_mean:
            mu /= self.groups.sizes.mean()
        return rng.normal(mu, self.config.sigma, size=self.n_groups)

    def highest(self, budget: Budget) -> np.ndarray:
        """(G,) min(N, M - G + 1), M - G being what is left when all groups have one block."""
        spare = (budget.n_bytes - self.smallest.n_bytes) // self.block_bytes
        return np.minimum(self.most, 1 + spare)

    def draw_total(self, rng: np.random.Generator) -> Budget:
        """The bytes of G to N·G blocks, uniformly."""
        blocks = rng.integers(self.n_groups, self.most * self.n_groups + 1)
        return Budget(int(self.user_bytes + blocks * self.block_bytes.max()))

    def fill(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(G, N) s_g unique blocks of each group, every subset equally likely."""
        ranks = rng.random((self.n_groups, self.most)).argsort(axis=1).argsort(axis=1)
        mask: np.ndarray = ranks < counts[:, None]
        return mask

    def counts(self, candidate: np.ndarray) -> np.ndarray:
        """(G,) |B_g|."""
        return np.asarray(candidate.sum(axis=1))

    def with_counts(
        self, candidate: np.ndarray, counts: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """The mask with random blocks added or removed where a count changes."""
        child = candidate.copy()
        for g in np.flatnonzero(counts != self.counts(child)).tolist():
            more = int(counts[g]) - int(child[g].sum())
            pool = np.flatnonzero(child[g] != (more > 0))
            child[g, rng.permutation(pool)[: abs(more)]] = more > 0
        return child

    def reselect(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """The same number of blocks of one group, drawn anew."""
        child = candidate.copy()
        child[group] = rng.permutation(child[group])
        return child

    def evenly(self, counts: np.ndarray) -> np.ndarray:
        """The first blocks of every group."""
        mask: np.ndarray = np.arange(self.most) < counts[:, None]
        return mask

    def features(self, candidates: np.ndarray) -> np.ndarray:
        """(B, G, N) multi-hot(B_g)."""
        return candidates.astype(np.float32)


def masked_items(
    table: BlockTable, groups: Groups, mask: np.ndarray, per_item: np.ndarray
) -> np.ndarray:
    """(V, D) items, or (V, d) under `tiled`, whose products with users are the scores of Eq. 2.

    Blocks that a group drops are 0, and each item is multiplied by max |B_g'| / |B_g|.

    Args:
        mask: (G, N) the blocks that each group keeps, at least one each.
        per_item: (V,) popularity in train, on which scores depend in some tables.
    """
    from elasticrec.evaluation.scoring import effective

    width = mask.sum(axis=1)
    factor = (width.max() / width).astype(np.float32)[groups.of_item]  # (V,)
    blocks = table.blocks * mask[groups.of_item][:, :, None]  # (V, N, d)
    _, items = effective(replace(table, blocks=blocks, users=None), per_item)
    return np.asarray(items * factor[:, None], dtype=np.float32)
