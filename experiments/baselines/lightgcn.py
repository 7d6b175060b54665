"""LightGCN (He et al., SIGIR '20): vectors propagated over the graph of users and items.

A device is sent what propagation leaves, not what was propagated. Its paper samples one unseen item
per pair for BPR; of several the hardest may count instead, which is tried as well.
"""

from __future__ import annotations

from typing import Any

from elasticrec.data.split import Split
from experiments.baselines.fitting import Training, fit_vectors, our_config, paper_config
from experiments.baselines.fixed_size import FixedSize

PAPER_EPOCHS, OUR_EPOCHS = 48, 24
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"layers": 3, "negatives": 1, "l2": 1e-4},
        {"layers": 3, "negatives": 32, "l2": 1e-3, "init": "random", "init_scale": 0.8},
    ],
    "ours": [
        {"layers": 1, "temperature": 0.07, "cooccurrence": 1.0},
        {"layers": 2, "temperature": 0.1, "cooccurrence": 0.3},
    ],
}


def train_lightgcn(
    split: Split, dimensions: int, *,
    loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None,
) -> Training:  # fmt: skip
    """The vectors of LightGCN by its own loss or by ours."""
    given = settings | {"base": "lightgcn", "aggregation": False}
    if loss == "paper":
        config = paper_config(dimensions, given, seed, epochs or PAPER_EPOCHS)
    else:
        config = our_config(split, dimensions, given, seed, epochs or OUR_EPOCHS)
    return fit_vectors(split, config, device)


LIGHTGCN = FixedSize("lightgcn", "float32", TRIALS, train_lightgcn)
LIGHTGCN_INT8 = FixedSize("lightgcn-int8", "int8", TRIALS, train_lightgcn)
