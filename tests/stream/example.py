"""The bundle of the worked example at the end of docs/bundle-format.md."""

import numpy as np

from elasticrec.bundle.material import Material
from elasticrec.bundle.writer import pack
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import Neighbours
from elasticrec.space.composition import Composition, Menu


def example():
    """Three items in two groups: two with codes of depth 2, one with a neighbour."""
    planes = np.zeros((1, 8, 3), np.uint8)
    planes[0, 0], planes[0, 1] = [0x21, 0x20, 0], [0x40, 0x41, 0]
    means = np.zeros((2, 8), np.float16)
    means[0, 0], means[1, 0] = 0.5, 0.25
    words = np.zeros((1, 32, 8), np.int8)
    words[0, 0] = [-3, -3, -3, -3, 3, 3, 3, 3]
    words[0, 1] = [1, 1, 1, 1, -1, -1, -1, -1]
    words[0, 16 + 2] = [1, 1, 1, 1, -1, -1, -1, -1]
    letters = np.zeros((256, 8), np.int8)
    letters[0x40] = [2, 2, 2, 2, 2, 2, 2, 2]
    letters[0x41] = [2, -2, -2, -2, -2, -2, -2, -2]
    gains = np.ones(256, np.float32)
    gains[1] = 2
    codes = Codes(
        planes=planes,
        means=means,
        person=np.array([1, 0, 0, 0, 0, 0, 0, -1], np.float16),
        scales=np.array([[0.125, 0.0625, 0.25]], np.float32),
        steps=np.array([0.5 ** (p + 1) for b in range(9) for p in range(b)], np.float32),
        words=words,
        letters=letters,
        rotation=np.eye(8, dtype=np.float32),
        bounds=np.array([0, 2, 3]),
        rows=np.array([[2]], np.uint8),
        gains=np.array([[0, 1, 0]], np.uint8),
        gain_values=gains,
    )
    numbers, weights = np.zeros((3, 16), np.uint32), np.zeros((3, 16), np.uint8)
    numbers[2, 0], weights[2, 0] = 1, 3
    lists = Neighbours(numbers, weights, (np.arange(16) / 4).astype(np.float32))
    menu = Menu(np.array([[2], [0]]), np.array([0, 1]))
    mixing = Mixing(np.array([[0, 0], [0.5, 0.75]]), by_root=False)
    model_id = bytes(range(32)).hex()
    made = Material(codes, lists, mixing, menu, model_id, trained=1_767_225_600)
    about = {"name": "example", "metric": "recall@50", "quality": 0.125, "budget": 4096}
    kept = Composition(np.array([[2], [0]]), np.array([0, 1]))
    return pack(made, kept, about={**about, "elasticrec": "0.1.0"})
