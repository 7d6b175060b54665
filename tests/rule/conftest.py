"""Small spaces whose best candidates are known."""

import itertools

import numpy as np
import pytest

from elasticrec.compression.codes import Codes
from elasticrec.ordering.order import OrderConfig, make_order
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.free_blocks import FreeBlocks
from elasticrec.rule.levels import Levels
from elasticrec.space import Budget


def blocks(sizes=(10, 10, 10), N=3, *, d=8, **config):
    """Free blocks of groups of these sizes."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    config = {"groups": "popularity", **config}
    return FreeBlocks(groups, N, d, SpaceConfig(kind="blocks", **config))


def budget_of(space, n_blocks):
    """The bytes of so many blocks of a first group, beside the user's vector."""
    return Budget(int(space.user_bytes + n_blocks * space.block_bytes[0]))


def made_codes(V=80, C=6, D=16, n_books=2, seed=0):
    """Random codes: the first book is as wide as a vector, the others speak of one block."""
    rng = np.random.default_rng(seed)
    widths = [D] + [8] * (n_books - 1)
    books = tuple(rng.integers(-127, 128, size=(32, w)).astype(np.int8) for w in widths)
    which = np.sort(np.arange(C) % n_books)
    first = np.array([0 if book == 0 else c % (D // 8) for c, book in enumerate(which)])
    return Codes(
        books,
        np.stack([which, first, np.full(C, 100)], axis=1),
        rng.integers(0, 256, size=(C, V)).astype(np.uint8),
        n_blocks=D // 8,
        unit=1000.0,
        recency=0.0,
        cosine=True,
        gains=np.full(C, 32_768, dtype=np.uint16),
        popularity=np.full(28, 128, dtype=np.uint8),
        empty=np.zeros(D, dtype=np.int8),
        rotation=np.eye(D, dtype=np.float32),
    )


def levels(V=80, C=6, S=3, G=4, *, least=1, columns_per_slot=2.0, n_levels=32, **config):
    """Levels of C columns and S slots."""
    config = SpaceConfig(n_groups=G, n_levels=n_levels, **config)
    order = make_order(V, C, S, OrderConfig(columns_per_slot=columns_per_slot), least=least)
    return Levels(made_codes(V, C), order, config)


@pytest.fixture(params=["blocks", "levels"])
def space(request):
    """Three groups of three blocks, and three groups of few levels."""
    return blocks() if request.param == "blocks" else levels(V=96, C=3, S=1, G=3)


WORTH = np.array([[8.0, 1.0, 3.0], [4.0, 2.0, 1.0], [1.0, 0.5, 0.2]])
"""The worth of block n of group g: some groups and some blocks matter more."""


def worth(candidates):
    """(B,) a quality whose optimum is easy to see, with decreasing returns inside a group."""
    if candidates.ndim == 3:
        return np.sqrt((candidates * WORTH).sum(axis=2)).sum(axis=1)
    return (np.sqrt(candidates) * np.array([3.0, 2.0, 1.0])).sum(axis=1)


def all_candidates(space, budget):
    """Every candidate within the budget, however much it leaves unspent."""
    if isinstance(space, FreeBlocks):
        rows = [np.array(bits, dtype=bool) for bits in itertools.product([0, 1], repeat=3)][1:]
    else:
        rows = list(range(1, space.most + 1))
    every = [np.array(choice) for choice in itertools.product(rows, repeat=space.n_groups)]
    return [one for one in every if space.size(space.counts(one)) <= budget.n_bytes]


def half_way(space):
    """A budget in the middle between the smallest and the full size."""
    return Budget((space.smallest.n_bytes + space.full.n_bytes) // 2)
