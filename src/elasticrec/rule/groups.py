"""Groups of items (Sec. 3, App. C): at random, by popularity, or by k-means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elasticrec.compression.codebooks import kmeans, nearest
from elasticrec.errors import InputError
from elasticrec.rule.config import SpaceConfig


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


def make_groups(popularity: np.ndarray, items: np.ndarray, config: SpaceConfig) -> Groups:
    """Groups of V items, of train popularity (V,) and embeddings (V, D)."""
    rng = np.random.default_rng(config.seed)
    if config.groups == "random":
        return random_groups(len(popularity), config.n_groups, rng)
    if config.groups == "popularity":
        return popularity_groups(popularity, config.n_groups)
    return cluster_groups(
        items, popularity, config.n_groups, rng, rounds=config.cluster_rounds, pca=config.pca
    )
