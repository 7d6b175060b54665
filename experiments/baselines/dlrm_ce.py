"""DLRM-CE (Shi et al., KDD '20): an item's vector is the product of two rows that items share.

Item i takes row i // m of a quotient table and row i mod m of a remainder table, multiplied number
by number, so no two items have the same vector. Left open: how many collisions and how wide; here
the width is tried, at least twice what a plain table could have, and m is the largest that fits.
Items are numbered by popularity, so that those sharing a remainder are never equally popular. Only
the item table is composed; a click model's layers above it have no place in ranking by products.
Its paper's loss is the cross entropy of clicks, here with sampled zeros. On cosines (our loss) a
byte per item for norm and gain is charged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.rows import Tables
from experiments.baselines.composed import Maker, scaled, scales_of
from experiments.baselines.contract import SCALE_ENDS_BYTES, BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import (
    LARGEST,
    by_popularity,
    fit_vectors,
    logistic,
    our_config,
    paper_config,
)

PAPER_EPOCHS, OUR_EPOCHS = 32, 28
COUNT_BYTES = 4
"""The number of items, stored beside the tables."""
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"dimensions": 32, "learning_rate": 0.02, "negatives": 4, "l2": 0.01},
        {"dimensions": 64, "learning_rate": 0.02, "negatives": 16, "l2": 0.05},
    ],
    "ours": [
        {"dimensions": 64, "temperature": 0.1, "cooccurrence": 0.3},
        {"dimensions": 128, "temperature": 0.1, "cooccurrence": 1.0},
    ],
}


@dataclass(frozen=True)
class DlrmCe:
    """Quotient and remainder tables."""

    name: str = "dlrm-ce"
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
        V = split.n_items
        beside = COUNT_BYTES + (V + SCALE_ENDS_BYTES if loss == "ours" else 0)
        D, m = self._shape(V, budget, beside, settings["dimensions"])
        order = by_popularity(split)
        composition = Remainders(V, m, order)
        made = Maker(composition)
        if loss == "ours":
            config = our_config(split, D, settings, seed, epochs or OUR_EPOCHS)
            trained = fit_vectors(split, config, device, make=made)
        else:
            config = paper_config(D, settings, seed, epochs or PAPER_EPOCHS)
            trained = fit_vectors(split, config, device, make=made, loss=logistic)
        started = time.perf_counter()
        stored = made.arrays() | {"n_items": np.array([V], dtype=np.int32)}
        if loss == "ours":
            stored |= scales_of(trained, products(stored)[np.argsort(order)])
            stored["scales"] = stored["scales"][order]
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted("dlrm-ce", stored, trained.users, D, seconds, order).within(budget)

    def _shape(self, V: int, budget: Budget, beside: int, wanted: int) -> tuple[int, int]:
        """D, and m: the rows of the remainder table; few dimensions where little fits."""
        plain = (budget.n_bytes - beside) // (FLOAT_BYTES * (V + 1))
        D = min(LARGEST, max(wanted, 2 * plain))
        while D >= 1:
            rows = (budget.n_bytes - beside) // (FLOAT_BYTES * D) - 1  # and one person's vector
            fits = [c for c in range(1, int(V**0.5) + 2) if c + -(-V // c) <= rows]
            if fits:
                return D, min(V, rows - fits[0])
            D //= 2
        fewest = min(c + -(-V // c) for c in range(1, V + 1))
        raise BudgetTooSmall(self.name, budget, beside + FLOAT_BYTES * (fewest + 1))


class Remainders:
    """Composition of items by the products of two rows."""

    def __init__(self, n_items: int, m: int, order: np.ndarray) -> None:
        self.m = m
        place = torch.from_numpy(np.argsort(order))  # (V,) rank by popularity
        self.quotient, self.remainder = place // m, place % m
        self.first = torch.from_numpy(order[:m].copy())
        self.n_quotients = -(-n_items // m)

    def tables(self, items: Tensor, generator: torch.Generator) -> Tables:
        """Remainders start as the most popular items are, quotients as nearly one."""
        where = items.device
        self.quotient, self.remainder = self.quotient.to(where), self.remainder.to(where)
        shape = (self.n_quotients, items.shape[1])
        noise = torch.randn(shape, generator=generator, device=where)
        return {
            "quotients": 1 + 0.5 * noise,
            "remainders": items.index_select(0, self.first.to(where)).contiguous(),
        }

    def compose(self, tables: Tables) -> Tensor:
        """(V, D) products, in the split's numbers."""
        left = tables["quotients"].index_select(0, self.quotient)
        return left * tables["remainders"].index_select(0, self.remainder)


def products(stored: Stored) -> np.ndarray:
    """(V, D) products in the device's numbers, not yet scaled."""
    place = np.arange(int(stored["n_items"][0]))
    m = len(stored["remainders"])
    return np.asarray(stored["quotients"][place // m] * stored["remainders"][place % m])


@decoder("dlrm-ce")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) products, times their scales."""
    return scaled(products(stored), stored)


DLRM_CE = DlrmCe()
