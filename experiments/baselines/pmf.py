"""PMF (Mnih & Salakhutdinov, NIPS '07): a vector per user and per item, by squared errors.

Left open for ranking: the ratings are all ones, so zeros must come from somewhere. Each pair
visited brings some items its user has not, drawn uniformly, as zeros; Gaussian priors are L2 on
every row a batch uses. With our loss it is the base `mf`, with or without aggregation.
"""

from __future__ import annotations

from typing import Any

from elasticrec.data.split import Split
from experiments.baselines.fitting import (
    OUR_TRIALS,
    Training,
    fit_vectors,
    our_config,
    paper_config,
    squares,
)
from experiments.baselines.fixed_size import FixedSize

PAPER_EPOCHS, OUR_EPOCHS = 40, 28
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"negatives": 4, "l2": 0.01, "init_scale": 0.5},
        {"negatives": 4, "l2": 0.05, "init_scale": 0.5},
        {"negatives": 16, "l2": 0.01, "init_scale": 0.5},
        {"negatives": 16, "l2": 0.05, "init_scale": 0.5},
    ],
    "ours": [*OUR_TRIALS[:3], OUR_TRIALS[1] | {"aggregation": False}],
}


def train_pmf(
    split: Split, dimensions: int, *,
    loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None,
) -> Training:  # fmt: skip
    """The vectors of PMF by its own loss or by ours."""
    if loss == "paper":
        config = paper_config(dimensions, settings, seed, epochs or PAPER_EPOCHS)
        return fit_vectors(split, config, device, loss=squares)
    config = our_config(split, dimensions, settings, seed, epochs or OUR_EPOCHS)
    return fit_vectors(split, config, device)


PMF = FixedSize("pmf", "float32", TRIALS, train_pmf)
PMF_INT8 = FixedSize(
    "pmf-int8", "int8", {"paper": TRIALS["paper"][::2], "ours": OUR_TRIALS[:2]}, train_pmf
)
