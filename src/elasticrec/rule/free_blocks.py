"""FreeBlocks: each group keeps any subset of its N f32 blocks whole. The paper's search space.

Items are grouped (Sec. 3, App. C) at random, by popularity or by k-means. The accounting is the
paper's: MB = 10^6 bytes, 4 bytes a number, vectors only, one user vector.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elasticrec.compression.codebooks import kmeans, nearest
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.search_space import Space, even_sizes
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.table import BlockTable


class FreeBlocks(Space):
    """Candidates are masks (G, N) bool: B_g, the blocks that each group keeps."""

    def __init__(
        self, group: np.ndarray, n_blocks: int, block_size: int, config: SpaceConfig
    ) -> None:
        """Args: group: (V,) of each item, 0 to G - 1."""
        self.group, self.config = group, config
        self.group_sizes = np.bincount(group)
        """(G,) |V_g|: items per group."""
        self.n_groups, self.most, self.top_up = len(self.group_sizes), n_blocks, config.top_up
        self.user_bytes = n_blocks * block_size * FLOAT_BYTES
        """size(u_i)."""
        self.block_bytes = self.group_sizes * block_size * FLOAT_BYTES
        """(G,) size of one block E_g(n) of each group."""

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """(B,) bytes: one user vector and the blocks kept (Problem 1)."""
        return np.asarray(self.user_bytes + counts @ self.block_bytes)

    def n_blocks(self, budget: Budget) -> int:
        """M: how many blocks of a mean group a budget holds."""
        left = (budget.n_bytes - self.user_bytes) / self.block_bytes.mean()
        return min(int(left + 1e-9), self.most * self.n_groups)

    def draw_first(self, budget: Budget, rng: np.random.Generator) -> np.ndarray:
        """(G,) s_g ~ N(μ, σ²) with μ = M/G; the printed μ is M/(G·|V_g|)."""
        mu = self.n_blocks(budget) / self.n_groups
        if self.config.printed_mean:
            mu /= self.group_sizes.mean()
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
        return np.asarray(ranks < counts[:, None])

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
        return np.asarray(np.arange(self.most) < counts[:, None])

    def features(self, candidates: np.ndarray) -> np.ndarray:
        """(B, G, N) multi-hot(B_g)."""
        return candidates.astype(np.float32)


def masked_items(
    table: BlockTable, group: np.ndarray, mask: np.ndarray, per_item: np.ndarray
) -> np.ndarray:
    """(V, D) items, or (V, d) under `tiled`, whose products with users are the scores of Eq. 2.

    Blocks that a group drops are 0, and each item is multiplied by max |B_g'| / |B_g|.

    Args:
        group: (V,) of each item.
        mask: (G, N) the blocks that each group keeps, at least one each.
        per_item: (V,) popularity in train, on which scores depend in some tables.
    """
    width = mask.sum(axis=1)
    factor = (width.max() / width).astype(np.float32)[group]  # (V,)
    blocks = table.blocks * mask[group][:, :, None]  # (V, N, d)
    _, items = replace(table, blocks=blocks, users=None).effective(per_item)
    return np.asarray(items * factor[:, None], dtype=np.float32)


def make_groups(popularity: np.ndarray, items: np.ndarray, config: SpaceConfig) -> np.ndarray:
    """(V,) groups of items with a popularity in train (V,) and embeddings (V, D)."""
    rng = np.random.default_rng(config.seed)
    if config.groups == "random":
        return random_groups(len(popularity), config.n_groups, rng)
    if config.groups == "popularity":
        return popularity_groups(popularity, config.n_groups)
    return cluster_groups(
        items, popularity, config.n_groups, rng, rounds=config.cluster_rounds, pca=config.pca
    )


def random_groups(n_items: int, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """(V,) equal groups drawn at random: the paper's default."""
    return rng.permutation(np.repeat(np.arange(n_groups), even_sizes(n_items, n_groups)))


def popularity_groups(popularity: np.ndarray, n_groups: int) -> np.ndarray:
    """(V,) equal groups by falling popularity (V,), ties by number (App. C)."""
    groups = np.repeat(np.arange(n_groups), even_sizes(len(popularity), n_groups))
    return groups[_places(-popularity)]


def cluster_groups(
    items: np.ndarray, popularity: np.ndarray, n_groups: int, rng: np.random.Generator, *,
    rounds: int = 50, pca: bool = False,
) -> np.ndarray:  # fmt: skip
    """(V,) unequal groups by k-means on full embeddings (App. C), by falling mean popularity.

    There are fewer than G groups where too few items differ.

    Args:
        pca: cluster the first two principal components instead, as the paper's figure does.
    """
    even_sizes(len(items), n_groups)  # refuses a wild G
    points = principal_components(items) if pca else np.asarray(items, dtype=np.float32)
    labels = nearest(points, kmeans(points, n_groups, rng, rounds=rounds))
    _, labels = np.unique(labels, return_inverse=True)  # without the empty ones
    means = np.bincount(labels, weights=popularity) / np.bincount(labels)
    return _places(-means)[labels]


def _places(values: np.ndarray) -> np.ndarray:
    """(n,) the place of each value among all in rising order, ties by number."""
    return np.argsort(np.argsort(values, kind="stable"))


def principal_components(points: np.ndarray) -> np.ndarray:
    """(V, 2) float32 coordinates of points (V, D) along their two widest directions."""
    centred = points - points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))  # rising in width
    return np.asarray(centred @ directions[:, :-3:-1], dtype=np.float32)
