"""What a search may choose: groups of items (Sec. 3, App. C), and the count of each group.

Every group g has a count s_g from 1 to N: how many f32 blocks it keeps (the paper), or how far it
climbed the stream's levels (ours). A candidate is an array with one entry per group: the mask of
the blocks kept (G, N), or the levels themselves (G,). `Space` has two instances, `FreeBlocks` and
`Levels`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from elasticrec.compression.codebooks import kmeans, nearest
from elasticrec.errors import InputError
from elasticrec.space import Budget


@dataclass(frozen=True, eq=False)
class Groups:
    """G groups of items, none empty; groups of one popularity or cluster come by it, falling."""

    of_item: np.ndarray
    """(V,) int64: the group of each item, 0 to G - 1."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_item", np.asarray(self.of_item, dtype=np.int64))
        if not len(self.of_item) or self.of_item.min() < 0 or not self.sizes.all():
            raise InputError(f"groups of sizes {self.sizes.tolist()}, expected none empty")

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.of_item)

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.sizes)

    @property
    def sizes(self) -> np.ndarray:
        """(G,) |V_g|: items per group."""
        return np.bincount(np.maximum(self.of_item, 0))


def even_sizes(n_items: int, n_groups: int) -> np.ndarray:
    """(G,) sizes that differ by at most one item, the larger first."""
    if not 1 <= n_groups <= n_items:
        raise InputError(f"{n_groups} groups of {n_items} items, expected 1 to {n_items} groups")
    sizes = np.full(n_groups, n_items // n_groups, dtype=np.int64)
    sizes[: n_items % n_groups] += 1
    return sizes


def random_groups(n_items: int, n_groups: int, rng: np.random.Generator) -> Groups:
    """Equal groups drawn at random: the paper's default."""
    labels = np.repeat(np.arange(n_groups), even_sizes(n_items, n_groups))
    return Groups(rng.permutation(labels))


def popularity_groups(popularity: np.ndarray, n_groups: int) -> Groups:
    """Equal groups by falling popularity (V,), ties by number (App. C)."""
    labels = np.empty(len(popularity), dtype=np.int64)
    labels[np.argsort(-popularity, kind="stable")] = np.repeat(
        np.arange(n_groups), even_sizes(len(popularity), n_groups)
    )
    return Groups(labels)


def cluster_groups(
    items: np.ndarray,
    popularity: np.ndarray,
    n_groups: int,
    rng: np.random.Generator,
    *,
    rounds: int = 50,
    pca: bool = False,
) -> Groups:
    """Unequal groups by k-means on full embeddings (App. C), by falling mean popularity.

    There are fewer than G groups where too few items differ.

    Args:
        pca: cluster the first two principal components instead, as the paper's figure does.
    """
    even_sizes(len(items), n_groups)  # refuses a wild G
    points = principal_components(items) if pca else np.asarray(items, dtype=np.float32)
    labels = nearest(points, kmeans(points, n_groups, rng, rounds=rounds))
    _, labels = np.unique(labels, return_inverse=True)  # without the empty ones
    means = np.bincount(labels, weights=popularity) / np.bincount(labels)
    rank = np.empty(len(means), dtype=np.int64)
    rank[np.argsort(-means, kind="stable")] = np.arange(len(means))
    return Groups(rank[labels])


def principal_components(points: np.ndarray, n_components: int = 2) -> np.ndarray:
    """(V, n_components) float32 coordinates of points (V, D) along their widest directions.

    The largest entry of each direction is made positive, so that signs do not depend on the solver.
    """
    centred = points - points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    covariance = (centred.T @ centred).astype(np.float64)  # (D, D)
    _, directions = np.linalg.eigh(covariance)
    widest = directions[:, ::-1][:, :n_components]  # (D, n_components)
    peaks = np.take_along_axis(widest, np.abs(widest).argmax(axis=0)[None], axis=0)
    return np.asarray(centred @ (widest * np.sign(peaks)), dtype=np.float32)


class Space(ABC):
    """Counts of G groups, what they cost, and the candidates behind them."""

    n_groups: int
    """G."""
    most: int
    """N: the largest count of a group; the smallest is 1."""
    top_up: bool
    """Candidates grow until nothing more fits."""

    @abstractmethod
    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """(B,) int64 bytes of counts (B, G); more never costs less."""

    @abstractmethod
    def draw_first(self, budget: Budget, rng: np.random.Generator) -> np.ndarray:
        """(G,) counts drawn around what suits a budget, not yet whole numbers (Alg. 1, l. 5)."""

    @abstractmethod
    def highest(self, budget: Budget) -> np.ndarray:
        """(G,) the most that each group can have: min(N, M - G + 1) in Alg. 1."""

    @abstractmethod
    def draw_total(self, rng: np.random.Generator) -> Budget:
        """A random budget for a sample of Alg. 3."""

    @abstractmethod
    def fill(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random candidate with such counts (Alg. 1, l. 15 to 18)."""

    @abstractmethod
    def counts(self, candidate: np.ndarray) -> np.ndarray:
        """(G,) s_g of a candidate; the caller may change it."""

    @abstractmethod
    def with_counts(
        self, candidate: np.ndarray, counts: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """The candidate with other counts, as little changed as may be."""

    @abstractmethod
    def reselect(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """A copy in which one group was drawn anew."""

    @abstractmethod
    def evenly(self, counts: np.ndarray) -> np.ndarray:
        """The candidate of such counts that treats groups of equal counts alike."""

    @abstractmethod
    def features(self, candidates: np.ndarray) -> np.ndarray:
        """(B, G, F) float32: multi-hot(B_g) of Eq. 4, for each of B candidates."""

    def size(self, counts: np.ndarray) -> int:
        """Bytes of (G,) counts."""
        return int(self.sizes(counts[None])[0])

    def affordable(self, counts: np.ndarray, budget: Budget) -> np.ndarray:
        """The groups that can have one more within a budget."""
        grown = np.minimum(counts + np.eye(self.n_groups, dtype=np.int64), self.most)  # (G, G)
        return np.flatnonzero((counts < self.most) & (self.sizes(grown) <= budget.n_bytes))

    @property
    def smallest(self) -> Budget:
        """Bytes of the least of every group."""
        return Budget(self.size(np.ones(self.n_groups, dtype=np.int64)))

    @property
    def full(self) -> Budget:
        """Bytes of everything."""
        return Budget(self.size(np.full(self.n_groups, self.most)))

    def check(self, budget: Budget) -> None:
        """Refuse a budget below the smallest possible size."""
        smallest = self.smallest
        if budget < smallest:
            raise InputError(
                f"a budget of {budget}: the smallest possible is {smallest} "
                f"({smallest.n_bytes} bytes)"
            )
