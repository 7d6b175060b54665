"""Random material of any small shape, for tests that need many."""

import numpy as np

from elasticrec.bundle.material import Material
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import SLOTS, Neighbours
from elasticrec.space.composition import Menu


def random_material(rng, sizes, n_blocks, *, n_rows=5, menu=None, n_lists=None, **beside):
    """Material of groups of these sizes; the first row of a menu that is drawn keeps nothing.

    It has so many lists of words, by default any number that a bundle may have.
    """
    V, D, G = sum(sizes), 8 * n_blocks, len(sizes)
    menu = menu or random_menu(rng, n_blocks, n_rows)
    rows = np.unique(menu.depths[menu.depths.any(axis=1)], axis=0).reshape(-1, n_blocks)
    K = int(rng.integers(n_blocks + 1)) if n_lists is None else n_lists
    codes = Codes(
        planes=rng.integers(0, 256, (n_blocks, 8, V), dtype=np.uint8),
        means=rng.normal(0, 0.1, (G, D)).astype(np.float16),
        person=rng.normal(0, 0.1, D).astype(np.float16),
        scales=random_scales(rng, n_blocks, K),
        steps=rng.uniform(0, 1, 36).astype(np.float32),
        words=random_words(rng, K, n_blocks),
        letters=random_letters(rng, K),
        rotation=np.eye(D, dtype=np.float32)[rng.permutation(D)],
        bounds=np.cumsum([0, *sizes]),
        rows=rows,
        gains=rng.integers(0, 256, (len(rows), V), dtype=np.uint8),
        gain_values=np.sort(rng.uniform(0, 2, 256)).astype(np.float32),
    )
    weights = -np.sort(-rng.integers(0, 16, (V, SLOTS)), axis=1)
    numbers = np.where(weights, rng.integers(0, V, (V, SLOTS)), 0)
    values = np.concatenate([[0], np.sort(rng.uniform(0, 1, 15))])
    lists = Neighbours(
        numbers.astype(np.uint32), weights.astype(np.uint8), values.astype(np.float32)
    )
    mixing = Mixing(rng.uniform(0, 1, (menu.n_rows, 2)), bool(rng.integers(2)))
    return Material(codes, lists, mixing, menu, rng.bytes(32).hex(), **beside)


def random_scales(rng, n_blocks, n_lists):
    """(N, 3) of words and letters, which are whole numbers, and of signs."""
    scales = rng.uniform(0.1, 1, (n_blocks, 3))
    if n_lists:
        scales[:, :2] /= 64
    return scales.astype(np.float32)


def random_words(rng, n_lists, n_blocks):
    """(K, 32, D) any numbers that a byte holds."""
    return rng.integers(-128, 128, (n_lists, 32, 8 * n_blocks), dtype=np.int8)


def random_letters(rng, n_lists):
    """(256, 8), or none where there are no words."""
    return rng.integers(-128, 128, (256 if n_lists else 0, 8), dtype=np.int8)


def random_menu(rng, n_blocks, n_rows):
    """Distinct rows, the first of which keeps nothing."""
    depths = rng.integers(0, 9, (n_rows, n_blocks)) * rng.integers(0, 2, (n_rows, 1))
    counts = rng.choice([0, 1, 2, 4, 8, 16, SLOTS], n_rows)
    depths[0], counts[0] = 0, 0
    together = np.unique(np.column_stack([depths, counts]), axis=0)
    return Menu(together[:, :-1], together[:, -1])


def random_ids(rng, kind, n_items):
    """Distinct ids of a kind: `none`, `u32`, `u64` or `strings`."""
    numbers = rng.choice(10 * n_items, n_items, replace=False)
    if kind == "u32":
        return numbers.astype(np.uint32)
    if kind == "u64":
        return numbers.astype(np.uint64) + np.uint64(2**63)
    if kind == "strings":
        return [f"{'é' * (n % 4)}{n}" for n in numbers]
    return None
