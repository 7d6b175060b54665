"""Model folders that can be served, made in a moment: random codes, an estimator that adds up."""

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import SLOTS, Neighbours
from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Split
from elasticrec.rule.estimator.features import Features
from elasticrec.rule.estimator.model import Estimator
from elasticrec.space.groups import popularity_groups
from elasticrec.space.menu import default_menu
from tests.bundle.making import random_letters, random_scales, random_words


def servable(
    root,
    *,
    n_items=3_000,
    n_users=40,
    n_groups=6,
    n_blocks=4,
    width=8,
    seed=0,
    history=False,
    titles=True,
):
    """A model folder in `root`, whose items are called i0, i1, … and users u0, u1, …

    Args:
        width: d0 of the estimator, which has nothing but its linear term where it is 0.
        history: whether the base needs no vectors.
    """
    rng = np.random.default_rng(seed)
    folder = ModelFolder.create(root)
    V, U, N = n_items, n_users, n_blocks
    folder.save_part("split", _split(rng, U, V, titles))
    blocks = rng.normal(0, 0.1, (V, N, 8)).astype(np.float32)
    users = None if history else rng.normal(0, 1, (U, 8 * N)).astype(np.float32)
    folder.save_part("table", BlockTable(blocks, users, "history" if history else "mf"))
    groups = popularity_groups(np.arange(V)[::-1], n_groups)
    folder.save_part("groups", groups)
    menu = default_menu(0.8 ** np.arange(N))
    folder.save_part("menu", menu)
    folder.save_part("codes", _codes(rng, groups.bounds, menu, N))
    folder.save_part("neighbours", _neighbours(rng, V))
    folder.save_part("mixing", Mixing(np.full((menu.n_rows, 2), 0.5), True))
    person = "history" if history else "vector+history"
    estimator = _estimator(rng, menu, n_groups, width, person)
    estimator.save(folder.path("estimator"))
    made_from = ("table", "groups", "menu", "codes", "neighbours", "mixing")
    folder.record("estimator", estimator.fingerprint(), made_from)
    folder.describe(trained="2026-01-02T03:04:05")
    return folder


def _split(rng, n_users, n_items, titles):
    taken = rng.integers(0, n_items, (n_users, 5))
    users = np.repeat(np.arange(n_users), 5)
    train = Pairs.from_arrays(users, taken.ravel(), n_users=n_users, n_items=n_items)
    nothing = Pairs.from_arrays(users[:0], users[:0], n_users=n_users, n_items=n_items)
    called = np.array([f"Book {n} – ein Buch" for n in range(n_items)], dtype=object)
    return Split(
        train,
        nothing,
        nothing,
        Ids.of([f"u{n}" for n in range(n_users)]),
        Ids.of([f"i{n}" for n in range(n_items)]),
        titles=called if titles else None,
        name="made",
    )


def _codes(rng, bounds, menu, n_blocks):
    V, D, G = int(bounds[-1]), 8 * n_blocks, len(bounds) - 1
    rows = np.unique(menu.depths[menu.depths.any(axis=1)], axis=0)
    return Codes(
        planes=rng.integers(0, 256, (n_blocks, 8, V), dtype=np.uint8),
        means=rng.normal(0, 0.1, (G, D)).astype(np.float16),
        person=rng.normal(0, 0.1, D).astype(np.float16),
        scales=random_scales(rng, n_blocks, 2),
        steps=rng.uniform(0, 1, 36).astype(np.float32),
        words=random_words(rng, 2, n_blocks),
        letters=random_letters(rng, 2),
        rotation=np.eye(D, dtype=np.float32)[rng.permutation(D)],
        bounds=bounds,
        rows=rows,
        gains=rng.integers(0, 256, (len(rows), V), dtype=np.uint8),
        gain_values=np.sort(rng.uniform(0, 2, 256)).astype(np.float32),
    )


def _neighbours(rng, n_items):
    weights = -np.sort(-rng.integers(1, 16, (n_items, SLOTS)), axis=1)
    numbers = rng.integers(0, n_items, (n_items, SLOTS))
    values = np.arange(16) / 15
    return Neighbours(
        numbers.astype(np.uint32), weights.astype(np.uint8), values.astype(np.float32)
    )


def _estimator(rng, menu, n_groups, width, person):
    """Every level of every block adds something, less in later groups and blocks."""
    depths, counts = np.unique(menu.depths), np.unique(menu.neighbours)
    features = Features(n_groups, menu.n_blocks, tuple(depths.tolist()), tuple(counts.tolist()))
    F, w = features.width, max(1, width)
    worth = rng.uniform(0.5, 1, (n_groups, F)) * np.linspace(1, 0.2, n_groups)[:, None]
    size = 1e-3 if width else 0.0
    shapes = {"code": (F, w), "group": (n_groups, w), "ffn": (w, w), "ffn_bias": (w,), "out": (w,)}
    weights = {name: rng.normal(0, size, shape) for name, shape in shapes.items()}
    weights |= {"bias": np.zeros(()), "linear": worth.ravel() / worth.sum() / 5}
    about = {"metric": "recall@50", "accounting": "file", "person": person}
    return Estimator(features, "fm", weights, about)
