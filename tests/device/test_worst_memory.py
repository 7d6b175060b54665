"""Shapes that ask for most memory: where every slot votes, with many planes, or many groups."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import elasticrec_device
from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Menu
from tests.bundle.making import random_material

SHAPES = [  # items, blocks, depth, neighbours, groups
    (300, 1, 0, 16, 1),
    (2500, 1, 0, 16, 1),
    (20_000, 1, 0, 2, 1),
    (20, 256, 8, 0, 2),
    (3, 256, 8, 16, 1),
    (60, 64, 8, 1, 3),
    (16_384, 1, 1, 1, 1),
    (70_000, 1, 0, 1, 1),
    (600, 1, 1, 1, 300),
]


def bundle(n_items, n_blocks, depth, neighbours, n_groups):
    """A bundle whose items are all alike, each item's neighbours being item 0."""
    menu = Menu(np.full((1, n_blocks), depth), np.array([neighbours]))
    rng = np.random.default_rng(0)
    made = random_material(rng, [n_items // n_groups] * n_groups, n_blocks, menu=menu)
    lists = made.neighbours
    numbers, weights = np.zeros_like(lists.numbers), np.full_like(lists.weights, 7)
    made = replace(made, neighbours=replace(lists, numbers=numbers, weights=weights))
    return pack(made, menu.compose(np.zeros(n_groups, np.int64)), about={})


def ask(file):
    with elasticrec_device.open(file) as opened:
        opened.recommend([0, 1], k=5, why=True)
        opened.recommend(range(3), k=100)
        opened.similar(0, k=5)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_takes_more_than_1_mb_and_twice_the_file(shape):
    file = bundle(*shape)
    ask(file)  # what numpy imports at first use is not the file's doing
    tracemalloc.start()
    try:
        ask(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 10**6 + 2 * len(file)
