"""A made-up bundle for benchmarks: random bytes that fill a budget."""

from __future__ import annotations

import numpy as np

N_GROUPS, N_BLOCKS = 20, 32
"""Groups, and blocks of 8 numbers: the 256 dimensions of the models that bundles are made from."""


def make_bundle(n_items: int, megabytes: float, columns: bool, seed: int) -> tuple[bytes, bytes]:
    """A bundle that fills a budget with random bytes, and a person's vector for it.

    With `columns` it keeps codes alone, else 8 neighbours too, or as many as fit of 4, 2 and 1.
    Groups differ a little. There are as many lists of words as a catalogue of so many items has.
    """
    from elasticrec.bundle.material import Material
    from elasticrec.stream.person import vector_bytes
    from elasticrec.bundle.writer import pack
    from elasticrec.compression.codes import Codes
    from elasticrec.coding.mixing import Mixing
    from elasticrec.compression.neighbours import Neighbours
    from elasticrec.compression.words import word_lists
    from elasticrec.space.composition import Composition, Menu

    rng = np.random.default_rng(seed)
    N, V, G = N_BLOCKS, n_items, N_GROUPS
    slot = V * ((V - 1).bit_length() / 8 + 0.5)  # bytes of one neighbour for all items
    lists = word_lists(V, N)
    beside = 3000 + 16 * (G + 1) * N + 256 * N * lists + 2048 + 12 * N  # words and scales too
    rest = megabytes * 1e6 - beside
    K = 0 if columns else next(count for count in (8, 4, 2, 1, 0) if count * slot <= rest)
    fits = (rest - K * slot) / V - 1  # byte columns
    depths = np.zeros((G, N), dtype=np.uint8)
    for g in range(G):
        C = max(0, min(8 * N, int(fits + 0.9 - 1.8 * (g % 2))))  # every other group a column less
        depths[g] = C // N + (np.arange(N) < C % N)
    rows = np.unique(depths, axis=0)
    menu = Menu(rows, np.full(len(rows), K, dtype=np.uint8))
    bounds = np.linspace(0, V, G + 1).astype(np.int64)
    kept = rows[rows.any(axis=1)]
    codes = Codes(
        planes=rng.integers(0, 256, (N, 8, V), dtype=np.uint8),
        means=rng.normal(0, 0.1, (G, 8 * N)).astype(np.float16),
        person=rng.normal(0, 0.1, 8 * N).astype(np.float16),
        scales=np.linspace((1 / 64, 1 / 64, 1), (0.2 / 64, 0.2 / 64, 0.2), N, dtype=np.float32),
        steps=rng.uniform(0, 1, 36).astype(np.float32),
        words=rng.integers(-128, 128, (lists, 32, 8 * N), dtype=np.int8),
        letters=rng.integers(-128, 128, (256 if lists else 0, 8), dtype=np.int8),
        rotation=np.eye(8 * N, dtype=np.float32),
        bounds=bounds,
        rows=kept,
        gains=rng.integers(0, 256, (len(kept), V), dtype=np.uint8),
        gain_values=np.geomspace(0.5, 2, 256).astype(np.float32),
    )
    weights = -np.sort(-rng.integers(1, 16, (V, 16)), axis=1).astype(np.uint8)
    numbers = rng.integers(0, V, (V, 16), dtype=np.uint32)
    near = Neighbours(numbers, weights, np.linspace(0, 1, 16, dtype=np.float32))
    mixing = Mixing(np.ones((len(rows), 2), dtype=np.float32), True)
    material = Material(codes, near, mixing, menu, rng.bytes(32).hex())
    bundle = pack(material, Composition(depths, np.full(G, K, dtype=np.uint8)), about={})
    if len(bundle) > megabytes * 1e6:
        raise AssertionError(f"{len(bundle)} bytes do not fit into {megabytes} MB")
    return bundle, vector_bytes(rng.normal(0, 0.1, 8 * N).astype(np.float32), material.model_id)
