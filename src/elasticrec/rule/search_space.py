"""What a search may choose, and Alg. 1, which draws it at random within a budget.

Every group g has a count s_g from 1 to N: how many f32 blocks it keeps (the paper), or how far it
climbed the stream's levels (ours). A candidate is an array with one entry per group: the mask of
the blocks kept (G, N), or the levels themselves (G,). `Space` has two instances, `FreeBlocks` and
`Levels`.

The paper leaves "draw s_g from N over integers" open: a normal number is rounded and clipped. The
bound is checked in bytes, so that it also holds for groups of unequal size. Ours then tops up, as
Alg. 1 only ever removes; a space with `top_up=False` draws as printed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space import Budget


class Space(ABC):
    """Counts of G groups, what they cost, and the candidates behind them: by default the counts."""

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

    def highest(self, budget: Budget) -> np.ndarray:  # noqa: ARG002
        """(G,) the most that each group can have; what is too much is repaired."""
        return np.full(self.n_groups, self.most)

    @abstractmethod
    def draw_total(self, rng: np.random.Generator) -> Budget:
        """A random budget for a sample of Alg. 3."""

    def fill(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """A random candidate with such counts (Alg. 1, l. 15 to 18)."""
        return counts

    def counts(self, candidate: np.ndarray) -> np.ndarray:
        """(G,) s_g of a candidate; the caller may change it."""
        return candidate.copy()

    def with_counts(
        self, candidate: np.ndarray, counts: np.ndarray, rng: np.random.Generator  # noqa: ARG002
    ) -> np.ndarray:  # fmt: skip
        """The candidate with other counts, as little changed as may be."""
        return counts

    @abstractmethod
    def reselect(self, candidate: np.ndarray, group: int, rng: np.random.Generator) -> np.ndarray:
        """A copy in which one group was drawn anew."""

    def evenly(self, counts: np.ndarray) -> np.ndarray:
        """The candidate of such counts that treats groups of equal counts alike."""
        return counts

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
            least = f"{smallest} ({smallest.n_bytes} bytes)"
            raise InputError(f"a budget of {budget}: the smallest possible is {least}")


def even_sizes(n_items: int, n_groups: int) -> np.ndarray:
    """(G,) sizes that differ by at most one item, the larger first."""
    if not 1 <= n_groups <= n_items:
        raise InputError(f"{n_groups} groups of {n_items} items, expected 1 to {n_items} groups")
    return n_items // n_groups + (np.arange(n_groups) < n_items % n_groups)


def random_candidate(space: Space, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """A random candidate within a budget (Alg. 1)."""
    return space.fill(draw_counts(space, budget, rng), rng)


def draw_counts(space: Space, budget: Budget, rng: np.random.Generator) -> np.ndarray:
    """(G,) s_g of a random candidate: Alg. 1, lines 4 to 13."""
    space.check(budget)
    drawn = np.rint(space.draw_first(budget, rng))
    s = np.clip(drawn, 1, space.highest(budget)).astype(np.int64)
    return bounded(space, s, budget, rng)


def bounded(
    space: Space, counts: np.ndarray, budget: Budget, rng: np.random.Generator
) -> np.ndarray:
    """(G,) the counts, repaired to fit a budget, then topped up where the space asks for it."""
    s = counts.copy()
    while space.size(s) > budget.n_bytes:  # Alg. 1, lines 8 to 13
        g = pick(rng, len(s))
        if s[g] > 1:
            s[g] -= 1
    while space.top_up and len(groups := space.affordable(s, budget)):
        s[groups[pick(rng, len(groups))]] += 1
    return s


def pick(rng: np.random.Generator, n: int) -> int:
    """A number from 0 to n - 1, uniformly; several times faster than `rng.integers` for one."""
    return int(rng.random() * n)


def uniform(space: Space, budget: Budget) -> np.ndarray:
    """All groups alike, as far as that goes; the rest goes to the groups in their order.

    Exactly alike would leave up to a level of every group unspent: two fifths of 5 MB in the
    paper's setting.
    """
    space.check(budget)
    s = np.ones(space.n_groups, dtype=np.int64)
    while s[0] < space.most and space.size(s + 1) <= budget.n_bytes:
        s += 1
    for group in range(space.n_groups):
        if group in space.affordable(s, budget):
            s[group] += 1
    return space.evenly(s)
