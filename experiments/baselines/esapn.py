"""ESAPN (Liu et al., SIGIR '20): a policy enlarges an item's embedding as its popularity grows.

Train pairs pass as a stream. Whenever an item comes by, a small network that sees how often it has
come and how large it is draws whether to enlarge it; the reward is by how much that lowers the loss
of the pair, and the network follows the policy gradient. Then sizes are fixed and trained from the
start. Left open: the candidate sizes (multiples of what a plain table could have, tried), and how
to keep to a budget, which the paper does not: the policy says whom to enlarge first, the budget how
many. A larger vector begins with the smaller one; the paper's batch normalisation and tanh are left
out. Numbers, sizes and maps are charged, and on cosines (our loss) a byte per item for norm and
gain. Users have one size. Its paper's loss is the cross entropy of clicks, with sampled zeros.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from experiments.baselines.composed import (
    Maker,
    MixedSizes,
    beside_bytes,
    from_sizes,
    scaled,
    scales_of,
    stored_sizes,
)
from experiments.baselines.contract import SCALE_ENDS_BYTES, BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.esapn_policy import Search
from experiments.baselines.fitting import (
    LARGEST,
    fit_vectors,
    logistic,
    our_config,
    paper_config,
    reseeded,
)

PAPER_EPOCHS, OUR_EPOCHS = 32, 28
SEARCH_SHARE = 4
"""The policy is learned in one in so many epochs, before the final sizes are trained."""
MAPS_SHARE = 4
"""Maps may take one in so many bytes: a matter of tiny catalogues alone."""
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"multiples": [0.5, 1, 2], "learning_rate": 0.01, "negatives": 4, "l2": 0.01},
        {"multiples": [0.5, 1, 2, 4], "learning_rate": 0.01, "negatives": 16, "l2": 0.01},
    ],
    "ours": [
        {"multiples": [0.5, 1, 2], "temperature": 0.1, "cooccurrence": 0.3},
        {"multiples": [0.5, 1, 2, 4], "temperature": 0.1, "cooccurrence": 1.0},
    ],
}


@dataclass(frozen=True)
class Esapn:
    """Sizes that a policy chose."""

    name: str = "esapn"
    losses: tuple[str, ...] = tuple(TRIALS)
    sizes: str = "retrained"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        return TRIALS[loss]

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        V, on_cosines = split.n_items, loss == "ours"
        beside = V + SCALE_ENDS_BYTES if on_cosines else 0
        sizes, numbers = self._sizes(V, budget, beside, settings["multiples"])
        D = sizes[-1]
        if on_cosines:
            config = our_config(split, D, settings, seed, epochs or OUR_EPOCHS)
        else:
            config = paper_config(D, settings, seed, epochs or PAPER_EPOCHS)
        search = Search(sizes, V, config)
        shorter = reseeded(config, epochs=max(1, config.epochs // SEARCH_SHARE))
        searched = fit_vectors(split, shorter, device, make=search.make, loss=search.loss)
        chosen = grow(sizes, search.wishes(), numbers)
        made = Maker(MixedSizes(sizes, torch.from_numpy(chosen)))
        own = None if on_cosines else logistic
        trained = fit_vectors(split, config, device, make=made, loss=own)
        started = time.perf_counter()
        stored = stored_sizes(made.arrays(), sizes, chosen)
        if on_cosines:
            stored |= scales_of(trained, from_sizes(stored))
        seconds = searched.seconds + trained.seconds + time.perf_counter() - started
        return Fitted("esapn", stored, trained.users, D, seconds).within(budget)

    def _sizes(
        self, V: int, budget: Budget, beside: int, multiples: list[float]
    ) -> tuple[tuple[int, ...], int]:
        """Candidate sizes, and how many numbers all items may have together."""
        plain = max(1, (budget.n_bytes - beside) // (FLOAT_BYTES * (V + 1)))
        for unit in range(min(plain, LARGEST), 0, -1):
            rounded = {min(LARGEST, max(1, round(unit * multiple))) for multiple in multiples}
            sizes = tuple(sorted(rounded))
            fixed = beside + beside_bytes(V, sizes, sizes[-1]) + FLOAT_BYTES * sizes[-1]
            numbers = (budget.n_bytes - fixed) // FLOAT_BYTES
            light = unit == 1 or MAPS_SHARE * FLOAT_BYTES * sum(sizes) * sizes[-1] < budget.n_bytes
            if light and numbers >= V * sizes[0]:
                return sizes, numbers
        raise BudgetTooSmall(self.name, budget, fixed + FLOAT_BYTES * V * sizes[0])


def grow(sizes: tuple[int, ...], wishes: np.ndarray, numbers: int) -> np.ndarray:
    """(V,) which size each item has, after the most wanted enlargements that fit.

    Args:
        sizes: candidates, rising.
        wishes: (V, K - 1) how much the policy wants to enlarge an item from each size.
        numbers: that all items may have together, at least V times the smallest size.
    """
    V = len(wishes)
    wanted = np.minimum.accumulate(wishes, axis=1)  # no size is skipped
    costs = np.diff(sizes)
    steps = np.tile(np.arange(len(costs)), V)
    items = np.repeat(np.arange(V), len(costs))
    order = np.lexsort((items, steps, -wanted.reshape(-1)))
    spent = np.cumsum(costs[steps[order]])
    taken = order[spent <= numbers - V * sizes[0]]
    return np.bincount(items[taken], minlength=V)


@decoder("esapn")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) the items, times their scales."""
    return scaled(from_sizes({k: v for k, v in stored.items() if "scale" not in k}), stored)


ESAPN = Esapn()
