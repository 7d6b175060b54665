"""A small model of the planted world, made in a moment."""

from dataclasses import replace

import numpy as np

from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.data.splitting import by_popularity
from elasticrec.model import Model
from elasticrec.ordering.order import OrderConfig, make_order
from elasticrec.rule.config import (
    EstimatorConfig,
    RuleConfig,
    SamplesConfig,
    SearchConfig,
    SpaceConfig,
)
from elasticrec.training.table import BlockTable

QUICK = RuleConfig(
    SpaceConfig(n_groups=4, n_features=3),
    SamplesConfig(n_samples=30, n_users=60, metric="recall@20"),
    EstimatorConfig(widths=(4,), l2s=(1e-2,), steps=60, max_rounds=1),
    SearchConfig(population=6, rounds=30, remeasured=2, n_users=200),
)
"""Settings that take a second or two."""
PRINTED = replace(
    RuleConfig.printed(width=4, population=6),
    space=replace(SpaceConfig.printed(), n_groups=4),
    samples=QUICK.samples,
    estimator=replace(QUICK.estimator, linear=False),
)


def table_of(split, score="aligned", users=True, N=4):
    """The singular vectors of train, as users and N blocks."""
    U, S, Vt = np.linalg.svd(split.train.csr().toarray(), full_matrices=False)
    vectors = (U[:, : N * 8] * S[: N * 8]).astype(np.float32)
    blocks = Vt[: N * 8].T.reshape(-1, N, 8).astype(np.float32)
    return BlockTable(blocks, vectors if users else None, "mf" if users else "history", score)


def make_model(root, split, *, users=False):
    """A model folder with everything that RULE reads."""
    split, _ = by_popularity(split)
    table = table_of(split, users=users)
    settings = CompressionConfig(stages=2, points=200, rounds=2, fewest_residual=1)
    codes = compress(table.items, settings, users=table.users)
    lists = make_neighbours(split.train, settings)
    weights = np.full((codes.n_columns + 1, 2), 1e-4, dtype=np.float32)
    order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig(), least=1)
    model = Model.create(root)
    model.describe(trained="2026-01-02")
    for name, part in (("split", split), ("table", table), ("codes", codes)):
        model.save_part(name, part)
    model.save_part("neighbours", lists)
    model.save_part("weights", lambda path: np.savez(path, weights=weights))
    model.save_part("order", order)
    model.save_part("catalogue", lambda path: path.write_bytes(b"{}"))
    return model
