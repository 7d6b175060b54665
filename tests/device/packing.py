"""A bundle of 100 items in three groups, the last of which keeps nothing."""

import numpy as np

from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Composition, Menu
from tests.bundle.making import random_material


def packed(ids=None, seed=0, withdrawn=(), **beside):
    """The bytes of a bundle with 2 blocks of numbers per item, and its model's id."""
    rng = np.random.default_rng(seed)
    depths, counts = np.array([[3, 3], [1, 1], [0, 0]]), np.array([2, 4, 0])
    menu = Menu(depths, counts)
    material = random_material(rng, (30, 50, 20), 2, menu=menu, ids=ids, **beside)
    about = {"name": "a test", "metric": "recall@50"}
    composition = Composition(depths, counts)
    return pack(material, composition, about=about, withdrawn=withdrawn), material.model_id


def ids_of(found):
    return [item.id for item in found]
