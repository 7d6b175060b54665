"""Product quantisation as faiss does it, of a table trained as ours is.

A vector is cut into parts, and each part is stored as the number of the nearest of 256 centroids.
Faiss wants parts of equal width, so many budgets would be left half unused; here widths may differ
by one, and any number of parts fits; centroids are stored as halves. A test compares the error with
that of faiss' own quantiser, which is not needed to run this one.
Left open: the basis in which vectors are cut. It is tried as trained, and turned with the axes
dealt out so that all parts have the same spread (as optimised PQ does), for the least error in
vectors or in scores. A person's vector is sent turned, which costs a device nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import pick_device
from elasticrec.space import FLOAT_BYTES, Budget
from experiments.baselines.codebooks import kmeans, nearest
from experiments.baselines.contract import BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import LARGEST, kept_vectors, our_config
from experiments.baselines.packing import pack, packed_bytes, unpack
from experiments.baselines.turning import Turn, turned

EPOCHS = 28
HALF_BYTES, COUNT_BYTES = 2, 8
"""A number of a centroid; and the counts of items and of parts."""
TRIALS: list[dict[str, Any]] = [
    {"dimensions": 128, "turn": "scored"},
    {"dimensions": 128, "turn": "energy"},
    {"dimensions": 128, "turn": "none"},
    {"dimensions": 256, "turn": "scored"},
]


class Shape(NamedTuple):
    """Numbers, bits and parts of a code."""

    dimensions: int
    """D: numbers that are coded."""
    bits: int
    """Of a part's code."""
    parts: int
    """M."""


@dataclass(frozen=True)
class FaissPq:
    """One training, and a product quantiser for each budget."""

    name: str = "faiss-pq"
    losses: tuple[str, ...] = ("ours",)
    sizes: str = "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        del loss
        return TRIALS

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        del loss  # ours alone
        V = split.n_items
        shape = shape_for(V, settings["dimensions"], budget, self.name)
        if shape.parts == settings["dimensions"]:  # a byte for each number, and room for more
            shape = shape_for(V, LARGEST, budget, self.name)
        D = max(shape.dimensions, settings["dimensions"])
        config = our_config(split, D, settings, seed, epochs or EPOCHS)
        trained = kept_vectors(split, config, device)
        started = time.perf_counter()
        how: Turn = settings["turn"]
        if how == "none" and shape.dimensions < D:
            how = "energy"  # only then are the first numbers the ones to keep
        users, items = turned(trained.users, trained.items, how)
        if how != "none":
            dealt = deal(items.var(axis=0)[: shape.dimensions], shape.parts)
            users, items = users[:, dealt], items[:, dealt]
        stored = quantise(np.ascontiguousarray(items), shape, seed, device)
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted("faiss-pq", stored, users, shape.dimensions, seconds).within(budget)


def shape_for(n_items: int, dimensions: int, budget: Budget, method: str) -> Shape:
    """As many parts of 8 bits as fit; fewer bits, then fewer numbers, where that is very little."""
    D = dimensions
    while D >= 1:
        for bits in range(8, 1, -1):
            if 2**bits > max(n_items, 4):
                continue
            left = budget.n_bytes - _size(n_items, Shape(D, bits, 0))
            parts = min(D, left // packed_bytes(n_items, bits))
            if parts >= 1 and 2 * parts * bits >= D:
                return Shape(D, bits, parts)
        D //= 2
    raise BudgetTooSmall(method, budget, _size(n_items, Shape(1, 2, 1)))


def _size(n_items: int, shape: Shape) -> int:
    """All bytes: centroids, codes, counts and one person's vector."""
    D, bits, M = shape
    return (
        HALF_BYTES * D * 2**bits + FLOAT_BYTES * D + M * packed_bytes(n_items, bits) + COUNT_BYTES
    )


def cuts(dimensions: int, parts: int) -> list[int]:
    """Widths of the parts, which differ by at most one, the wider ones first."""
    return [dimensions // parts + (part < dimensions % parts) for part in range(parts)]


def deal(spread: np.ndarray, parts: int) -> np.ndarray:
    """(D,) axes dealt to parts so that the products of their spreads are alike."""
    widths = cuts(len(spread), parts)
    hands: list[list[int]] = [[] for _ in widths]
    total = np.zeros(parts)
    logs = np.log(np.maximum(spread, 1e-20))
    for axis in np.argsort(-spread, kind="stable"):
        open_hands = [p for p in range(parts) if len(hands[p]) < widths[p]]
        best = min(open_hands, key=lambda p: (total[p] - logs.min() * len(hands[p]), p))
        hands[best].append(int(axis))
        total[best] += logs[axis]
    return np.array([axis for hand in hands for axis in hand])


def quantise(items: np.ndarray, shape: Shape, seed: int, device: str) -> dict[str, np.ndarray]:
    """Centroids (2^bits, D) and packed codes of all items."""
    where = pick_device(device)
    generator = torch.Generator(device=where).manual_seed(seed)
    points = torch.as_tensor(items, device=where)
    centroids, codes = [], []
    for part in points.split(cuts(shape.dimensions, shape.parts), dim=1):
        found = kmeans(part.contiguous(), 2**shape.bits, generator)
        centroids.append(found)
        codes.append(nearest(part, found))
    numbers = torch.stack(codes).cpu().numpy()  # (M, V)
    return {
        "centroids": torch.cat(centroids, dim=1).cpu().numpy().astype(np.float16),
        "codes": np.stack([pack(row, shape.bits) for row in numbers]),
        "counts": np.array([len(items), shape.parts], dtype=np.int32),
    }


@decoder("faiss-pq")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) the centroids that the codes name."""
    V, M = map(int, stored["counts"])
    centroids = stored["centroids"].astype(np.float32)
    ends = np.cumsum(cuts(centroids.shape[1], M))[:-1]
    parts = np.split(centroids, ends, axis=1)
    codes = (unpack(planes, V) for planes in stored["codes"])
    return np.concatenate([part[code] for part, code in zip(parts, codes, strict=True)], axis=1)


FAISS_PQ = FaissPq()
