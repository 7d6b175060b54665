"""Small coded models: real codes of random tables, random neighbours and weights."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.training.table import BlockTable
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import SLOTS, Neighbours
from elasticrec.coding.planes import encode
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.coded import CodedModel
from elasticrec.evaluation.questions import Questions
from elasticrec.space.composition import Menu

DEPTHS = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 2], [8, 8, 8]]
COUNTS = (0, 1, 4, 64)


def random_neighbours(rng, n_items):
    """Up to 64 neighbours of each item, by falling weight, some lists short."""
    numbers = np.zeros((n_items, SLOTS), dtype=np.uint32)
    weights = np.zeros((n_items, SLOTS), dtype=np.uint8)
    for item in range(n_items):
        n = int(rng.integers(SLOTS + 1))
        others = np.delete(np.arange(n_items), item)
        numbers[item, :n] = rng.choice(others, size=n, replace=False)
        weights[item, :n] = -np.sort(-rng.integers(1, 16, size=n))
    values = np.concatenate(([0], np.sort(rng.random(15)))).astype(np.float32)
    return Neighbours(numbers, weights, values)


def make_model(rng, *, n_users=30, n_items=90, n_groups=5, by_root=True, fold_map=False):
    """A coded model of three blocks, whose menu is `DEPTHS` × `COUNTS`."""
    items, users = rng.normal(size=(n_items, 24)), rng.normal(size=(n_users, 24))
    items[:, :8] *= 3
    table = BlockTable(items.reshape(-1, 3, 8).astype(np.float32), users.astype(np.float32), "mf")
    if fold_map:
        table = replace(table, fold_map=rng.normal(size=(24, 24)).astype(np.float32))
    inner = np.sort(rng.choice(np.arange(1, n_items), size=n_groups - 1, replace=False))
    bounds = np.concatenate(([0], inner, [n_items]))
    menu = Menu(np.repeat(DEPTHS, len(COUNTS), axis=0), np.tile(COUNTS, len(DEPTHS)))
    return CodedModel(
        codes=encode(table, bounds, menu.depths, rng=rng, n_lists=2),
        neighbours=random_neighbours(rng, n_items),
        menu=menu,
        mixing=Mixing(rng.random((menu.n_rows, 2)) * 3, by_root),
        users=table.users,
        fold_map=table.fold_map,
    )


def make_questions(rng, n_users=30, n_items=90):
    """What each user has seen, nothing for the first, and what is relevant to her."""
    parts = rng.choice(3, size=(n_users, n_items), p=(0.6, 0.3, 0.1))
    parts[:, 0] = 2
    parts[0, 1:] = 0
    seen, relevant = (
        Pairs.from_arrays(*np.nonzero(parts == part), n_users=n_users, n_items=n_items)
        for part in (1, 2)
    )
    return Questions(np.arange(n_users), seen, relevant)


@pytest.fixture
def coded():
    """A maker of coded models, and one of questions."""
    return make_model, make_questions
