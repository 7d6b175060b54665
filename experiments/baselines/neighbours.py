"""Lists alone: ItemKNN, and a sparse linear model (EASE or SLIM) whose lists are cut short.

Both rank by the votes of a history, need no vector, and are packed as our own lists are: a number
of ⌈log2 V⌉ bits and a weight of 4 bits for each voter. Both come from one matrix, how often two
items are shared, busy people held back. The linear model is the exact inverse of it (EASE,
Steck '19) up to `EXACT` items; for more, each item is a ridge regression on its `CANDIDATES`
strongest co-occurring ones (SLIM, Ning and Karypis '11). What remains of each list may be solved
once more for itself, and popular targets held back; validation decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs

Settings = dict[str, Any]
EXACT = 45_000
CANDIDATES = 256
LONGEST = 128
"""No list is longer."""
WEIGHT_BITS = 4
SPAN = (0.05, 0.999)
"""Quantiles of the weights at which the lowest and the highest level stand."""
_NUMBERS_AT_ONCE = 1 << 24


class Lists(NamedTuple):
    """The voters of each item, the strongest first."""

    voters: Tensor
    """(V, k) int64."""
    weights: Tensor
    """(V, k) float32, 0 where there is none."""


@dataclass(frozen=True)
class ListsAlone:
    """A way to make lists, and the settings that are tried."""

    name: str
    tried: tuple[Settings, ...]
    make: Callable[[Tensor, Pairs, Settings], Lists]
    """(shared (V, V), train, settings) -> the longest lists."""
    cuts: tuple[Settings, ...] = ({},)
    """What is tried of each list that was cut to a length."""


def slots_within(n_bytes: float, n_items: int) -> int:
    """Neighbours of each item that fit into bytes per item, beside sixteen levels of two bytes."""
    left = n_bytes - 2 * 2**WEIGHT_BITS / n_items
    return min(int(left * 8 / (max(1, (n_items - 1).bit_length()) + WEIGHT_BITS)), n_items - 1)


def shared(train: Pairs, user_power: float, device: str) -> Tensor:
    """(V, V) float32: the persons whom two items share, one with n items counting 1/n^p."""
    from scipy.sparse import diags

    weights = np.maximum(train.per_user, 1).astype(np.float32) ** -user_power
    R = train.csr()
    product = (R.T @ (diags(weights) @ R)).tocoo()
    V = train.n_items
    out = torch.zeros(V * V, device=device)
    at = torch.from_numpy(product.row.astype(np.int64)).to(device) * V
    at += torch.from_numpy(product.col.astype(np.int64)).to(device)
    out[at] = torch.from_numpy(product.data.astype(np.float32)).to(device)
    return out.view(V, V)


def item_knn(G: Tensor, train: Pairs, settings: Settings) -> Lists:
    """The strongest co-occurring items, by co-occurrence over popularity to a power."""
    popularity = torch.from_numpy(np.maximum(train.per_item, 1).astype(np.float32)).to(G.device)
    held = popularity ** -settings["voter_power"]
    found = _strongest(G, held, min(LONGEST, len(G) - 1))
    sharp = settings["sharpness"]
    scale = popularity ** (sharp * settings["voter_power"] - settings["target_power"])
    weights = (found.weights * held[:, None]) ** sharp
    return Lists(found.voters, weights * scale[:, None])


def linear(G: Tensor, train: Pairs, settings: Settings) -> Lists:
    """The heaviest weights of a ridge regression of each item on others."""
    ridge, V = ridge_of(train, settings), len(G)
    k = min(LONGEST, V - 1)
    if V <= EXACT:
        P = G.clone()
        P.diagonal().add_(ridge)
        P = torch.linalg.cholesky(P)
        P = torch.cholesky_inverse(P)
        P /= -P.diagonal().clone()[:, None]
        P.fill_diagonal_(0)
        weights, voters = P.topk(k, dim=1)
        del P
        if G.is_cuda:
            torch.cuda.empty_cache()  # processes share the memory
        return Lists(voters, weights.clamp(min=0))
    popularity = torch.from_numpy(np.maximum(train.per_item, 1).astype(np.float32)).to(G.device)
    near = _strongest(G, popularity ** -settings["voter_power"], CANDIDATES)
    weights, best = solved(G, near.voters, ridge).topk(k, dim=1)
    return Lists(near.voters.gather(1, best), weights)


def ridge_of(train: Pairs, settings: Settings) -> float:
    """λ: a ridge in persons, by what a person counts on average."""
    weights = np.maximum(train.per_user, 1) ** -settings["user_power"]
    return float(settings["ridge"] * (weights @ train.per_user) / max(len(train), 1))


def solved(G: Tensor, voters: Tensor, ridge: float) -> Tensor:
    """(V, k) weights, at least 0, of the ridge regression of each item on its voters alone."""
    k = voters.shape[1]
    eye = ridge * torch.eye(k, device=G.device)
    targets = torch.arange(len(voters), device=G.device)
    out = []
    for some, at in zip(
        voters.split(max(1, _NUMBERS_AT_ONCE // (k * k))),
        targets.split(max(1, _NUMBERS_AT_ONCE // (k * k))),
        strict=True,
    ):
        A = G[some[:, :, None], some[:, None, :]] + eye
        b = torch.cholesky_solve(G[at[:, None], some][..., None], torch.linalg.cholesky(A))
        out.append(b[..., 0].clamp(min=0))
    return torch.cat(out)


def cut_short(lists: Lists, k: int, G: Tensor, train: Pairs, settings: Settings) -> Lists:
    """The first k voters on fifteen levels, weighed anew where that is asked for."""
    voters, weights = lists.voters[:, :k], lists.weights[:, :k]
    if settings.get("again"):
        weights = solved(G, voters, ridge_of(train, settings)) * (weights > 0)
    if power := settings.get("held_back", 0.0):
        popularity = np.maximum(train.per_item, 1).astype(np.float32)
        weights = weights / torch.from_numpy(popularity**power).to(weights.device)[:, None]
    return Lists(voters, _levels(weights))


def _strongest(G: Tensor, held: Tensor, k: int) -> Lists:
    """The k voters of each item with the most shared persons, times `held` of the voter."""
    voters, weights = [], []
    at_once = max(1, _NUMBERS_AT_ONCE // len(G))
    for start in range(0, len(G), at_once):
        rows = G[start : start + at_once] * held
        rows[torch.arange(len(rows)), torch.arange(start, start + len(rows))] = 0
        best = rows.topk(k, dim=1)
        weights.append(best.values)
        voters.append(best.indices)
    return Lists(torch.cat(voters), torch.cat(weights))


def _levels(weights: Tensor) -> Tensor:
    """The weights rounded to fifteen levels, even in their logarithm, each the mean of its own."""
    used = weights > 0
    logs = weights[used].log()
    if not len(logs):
        return weights
    some = logs[:: max(1, len(logs) // 1_000_000)]
    low, high = (torch.quantile(some, share) for share in SPAN)
    gap = ((high - low) / 14).clamp(min=1e-9)
    level = ((logs - low) / gap).round().clamp(0, 14).long()
    sums = torch.zeros(15, device=logs.device).index_add_(0, level, logs.exp())
    counts = torch.bincount(level, minlength=15).clamp(min=1)
    out = torch.zeros_like(weights)
    out[used] = (sums / counts)[level]
    return out


LISTS_ALONE = {
    each.name: each
    for each in (
        ListsAlone(
            "itemknn",
            tuple(
                {
                    "user_power": 0.5,
                    "voter_power": voter,
                    "target_power": target,
                    "sharpness": sharp,
                }
                for voter, target, sharp in (
                    (0.4, 0.3, 1.0),
                    (0.4, 0.4, 1.5),
                    (0.5, 0.5, 1.0),
                    (0.5, 0.5, 2.0),
                )
            ),
            item_knn,
        ),
        ListsAlone(
            "sparse linear",
            tuple(
                {"user_power": 0.25, "ridge": ridge, "voter_power": 0.4}
                for ridge in (20.0, 60.0, 200.0, 600.0)
            ),
            linear,
            tuple(
                {"again": again, "held_back": power}
                for again in (False, True)
                for power in (0.0, 0.2)
            ),
        ),
    )
}
"""By the name that result lines carry."""
