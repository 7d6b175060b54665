"""AutoEmb (Zhao et al., ICDM '21): each item mixes embeddings of several sizes by its popularity.

An item has one vector of each candidate size; a linear map brings each to a common width, and a
small network that sees the item's popularity says how much each counts. All candidate vectors are
charged, and so are the maps, the network and a byte of popularity for each item. Left open: the
sizes (in the ratio 1 : 2 : 4, filling the budget), the common width (tried, with and without the
paper's tanh), batch normalisation (left out: ranking has no batch), and the order of training: its
paper alternates between train and validation, here all is trained together on train, so that
validation stays unseen. Users have one vector each. Its paper's loss is the cross entropy of
clicks, here with sampled zeros. On cosines (our loss) a byte per item for norm and gain is charged.
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
from experiments.baselines.contract import (
    SCALE_ENDS_BYTES,
    BudgetTooSmall,
    Fitted,
    Stored,
    code_scales,
    decoder,
)
from experiments.baselines.fitting import LARGEST, fit_vectors, logistic, our_config, paper_config

PAPER_EPOCHS, OUR_EPOCHS = 32, 28
RATIOS = (1, 2, 4)
HIDDEN = 8
TANH_BYTES = 1
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"width": 1, "tanh": False, "learning_rate": 0.01, "negatives": 4, "l2": 0.01},
        {"width": 2, "tanh": True, "learning_rate": 0.01, "negatives": 16, "l2": 0.01},
    ],
    "ours": [
        {"width": 1, "tanh": False, "temperature": 0.1, "cooccurrence": 0.3},
        {"width": 1, "tanh": False, "temperature": 0.1, "cooccurrence": 1.0},
    ],
}


@dataclass(frozen=True)
class AutoEmb:
    """Candidate tables mixed by popularity."""

    name: str = "autoemb"
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
        sizes, D = self._sizes(V, budget, settings["width"], on_cosines)
        popularity = code_scales(split.train.per_item + 1.0)["scales"]
        made = Maker(Soft(sizes, popularity, tanh=settings["tanh"]))
        if on_cosines:
            config = our_config(split, D, settings, seed, epochs or OUR_EPOCHS)
            trained = fit_vectors(split, config, device, make=made)
        else:
            config = paper_config(D, settings, seed, epochs or PAPER_EPOCHS)
            trained = fit_vectors(split, config, device, make=made, loss=logistic)
        started = time.perf_counter()
        stored = made.arrays() | {"popularity": popularity}
        stored["tanh"] = np.array([settings["tanh"]], dtype=np.uint8)
        if on_cosines:
            stored |= scales_of(trained, mixed(stored))
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted("autoemb", stored, trained.users, D, seconds).within(budget)

    def _sizes(
        self, V: int, budget: Budget, width: int, on_cosines: bool
    ) -> tuple[tuple[int, ...], int]:
        """Candidate sizes that fill the budget, and the common width."""

        def size(numbers: int) -> int:
            sizes, D = candidates(numbers), min(LARGEST, width * numbers)
            network = 2 * HIDDEN + HIDDEN * len(sizes)
            maps = numbers * D + len(sizes) * D
            scales = V + SCALE_ENDS_BYTES if on_cosines else 0
            return FLOAT_BYTES * (V * numbers + maps + network + D) + V + TANH_BYTES + scales

        fits = [n for n in range(len(RATIOS), LARGEST + 1) if size(n) <= budget.n_bytes]
        if not fits:
            raise BudgetTooSmall(self.name, budget, size(len(RATIOS)))
        return candidates(fits[-1]), min(LARGEST, width * fits[-1])


def candidates(numbers: int) -> tuple[int, ...]:
    """Sizes in about the ratio 1 : 2 : 4 with a given sum, each at least 1."""
    ends = np.rint(np.cumsum(RATIOS) / sum(RATIOS) * numbers).astype(int)
    first = max(1, int(ends[0]))
    second = max(1, int(ends[1]) - first)
    return first, second, numbers - first - second


class Soft:
    """Composition of items by a mix of candidates."""

    def __init__(self, sizes: tuple[int, ...], popularity: np.ndarray, *, tanh: bool) -> None:
        self.sizes, self.tanh = sizes, tanh
        share = torch.from_numpy(popularity.astype(np.float32) / 255)
        self.features = torch.stack([share, torch.ones_like(share)], dim=1)  # (V, 2)

    def tables(self, items: Tensor, generator: torch.Generator) -> Tables:
        """Candidates start as parts of first vectors, maps as bringing each to its own place."""
        where, D = items.device, items.shape[1]
        self.features = self.features.to(where)
        found: Tables = {}
        start = 0
        for k, size in enumerate(self.sizes):
            noise = torch.randn(size, D, generator=generator, device=where)
            found[f"candidate{k}"] = items[:, start : start + size].contiguous()
            place = torch.eye(D, device=where)[start : start + size] * len(self.sizes)
            found[f"map{k}"] = place + 0.1 * noise / D**0.5
            found[f"shift{k}"] = torch.zeros(D, device=where)
            start += size
        shape = (2 + len(self.sizes), HIDDEN)
        network = 0.5 * torch.randn(shape, generator=generator, device=where)
        return found | {
            "network_in": network[:2].clone(),
            "network_out": network[2:].T.contiguous(),
        }

    def compose(self, tables: Tables) -> Tensor:
        """(V, D) mixes."""
        hidden = torch.tanh(self.features @ tables["network_in"])
        weights = torch.softmax(hidden @ tables["network_out"], dim=1)  # (V, K)
        total = None
        for k in range(len(self.sizes)):
            mapped = tables[f"candidate{k}"] @ tables[f"map{k}"] + tables[f"shift{k}"]
            part = weights[:, k : k + 1] * (torch.tanh(mapped) if self.tanh else mapped)
            total = part if total is None else total + part
        assert total is not None
        return total


def mixed(stored: Stored) -> np.ndarray:
    """(V, D) mixes of what is stored, not yet scaled."""
    sizes = tuple(stored[f"candidate{k}"].shape[1] for k in range(len(RATIOS)))
    soft = Soft(sizes, stored["popularity"], tanh=bool(stored["tanh"][0]))
    floats = {name: x for name, x in stored.items() if x.dtype == np.float32}
    tables = {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in floats.items()}
    return np.asarray(soft.compose(tables).numpy())


@decoder("autoemb")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) mixes, times their scales."""
    return scaled(mixed(stored), stored)


AUTOEMB = AutoEmb()
