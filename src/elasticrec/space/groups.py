"""Groups: which items are treated alike, and the item order in which groups are ranges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.data.interactions import fingerprint
from elasticrec.space.clustering import cluster, principal_components

KINDS = ("random", "popularity", "cluster")
"""How items may be grouped."""


@dataclass(frozen=True, eq=False)
class Groups:
    """G groups of items, the popular first where popularity tells them apart.

    After `space.regroup` group g is the items `bounds[g]` to `bounds[g + 1]`, the popular first.
    """

    sizes: np.ndarray
    """(G,) int64 items per group, none empty."""
    order: np.ndarray
    """(V,) int64 old number of each new item: by group, then falling popularity, then number."""
    kind: str
    """`random`, `popularity` or `cluster`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", np.asarray(self.sizes, dtype=np.int64))
        object.__setattr__(self, "order", np.asarray(self.order, dtype=np.int64))
        if self.kind not in KINDS:
            raise InputError(f"groups of kind {self.kind!r}, expected one of {', '.join(KINDS)}")
        if len(self.sizes) == 0 or self.sizes.min() < 1:
            raise InputError(f"groups of sizes {self.sizes.tolist()}, expected none empty")
        V = len(self.order)
        if self.sizes.sum() != V or not np.array_equal(np.sort(self.order), np.arange(V)):
            raise InputError(
                f"groups of {self.sizes.sum()} items and an order of {V}, "
                "expected every item in the order once"
            )

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.sizes)

    @property
    def n_items(self) -> int:
        """V."""
        return len(self.order)

    @property
    def bounds(self) -> np.ndarray:
        """(G + 1,) where each group's range of new items begins, and V."""
        return np.concatenate(([0], np.cumsum(self.sizes)))

    @property
    def of_item(self) -> np.ndarray:
        """(V,) the group of each new item."""
        return np.repeat(np.arange(self.n_groups), self.sizes)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        return {"sizes": self.sizes, "order": self.order, "kind": np.array(self.kind)}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez_compressed(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Groups:
        """The groups that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["sizes"], stored["order"], str(stored["kind"]))


def even_sizes(n_items: int, n_groups: int) -> np.ndarray:
    """(G,) sizes that differ by at most one item, the larger first."""
    if not 1 <= n_groups <= n_items:
        raise InputError(f"{n_groups} groups of {n_items} items, expected 1 to {n_items} groups")
    sizes = np.full(n_groups, n_items // n_groups, dtype=np.int64)
    sizes[: n_items % n_groups] += 1
    return sizes


def random_groups(popularity: np.ndarray, n_groups: int, rng: np.random.Generator) -> Groups:
    """Equal groups drawn at random: the paper's default.

    Args:
        popularity: (V,) train interactions of each item.
    """
    sizes = even_sizes(len(popularity), n_groups)
    labels = np.empty(len(popularity), dtype=np.int64)
    labels[rng.permutation(len(popularity))] = np.repeat(np.arange(n_groups), sizes)
    return Groups(sizes, _order(labels, popularity), "random")


def popularity_groups(popularity: np.ndarray, n_groups: int) -> Groups:
    """Equal groups by falling popularity, ties by number (App. C): ours."""
    sizes = even_sizes(len(popularity), n_groups)
    everything = np.zeros(len(popularity), dtype=np.int64)
    return Groups(sizes, _order(everything, popularity), "popularity")


def cluster_groups(
    items: np.ndarray,
    popularity: np.ndarray,
    n_groups: int,
    rng: np.random.Generator,
    *,
    pca: bool = False,
) -> Groups:
    """Unequal groups by k-means on full embeddings (App. C), by falling mean popularity.

    Args:
        items: (V, D) embeddings.
        pca: cluster their first two principal components instead.
    """
    even_sizes(len(items), n_groups)  # refuses a wild G
    labels = cluster(principal_components(items) if pca else items, n_groups, rng)
    counts = np.bincount(labels, minlength=n_groups)
    means = np.bincount(labels, weights=popularity, minlength=n_groups) / counts
    ranked = np.argsort(-means, kind="stable")
    rank_of = np.empty(n_groups, dtype=np.int64)
    rank_of[ranked] = np.arange(n_groups)
    return Groups(counts[ranked], _order(rank_of[labels], popularity), "cluster")


def _order(labels: np.ndarray, popularity: np.ndarray) -> np.ndarray:
    """(V,) item numbers by group, inside it by falling popularity, then by number."""
    return np.lexsort((np.arange(len(labels)), -np.asarray(popularity), labels))
