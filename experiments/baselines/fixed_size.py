"""Tables of one fixed dimension, the largest that fits: as float32, or as bytes with scales."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from experiments.baselines.contract import BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import LARGEST, Training, blocks_of

HALF_BYTES = 2


@dataclass(frozen=True)
class FixedSize:
    """A model of any dimension, stored number by number."""

    name: str
    """A method's name."""
    form: str
    """`float32` or `int8`."""
    tried: dict[str, list[dict[str, Any]]]
    """By loss, what is tried."""
    train: Callable[..., Training]
    """(split, dimensions, *, loss, settings, seed, device, epochs) -> the trained vectors."""

    @property
    def losses(self) -> tuple[str, ...]:
        """As in `Baseline`."""
        return tuple(self.tried)

    @property
    def sizes(self) -> str:
        """As in `Baseline`."""
        return "retrained" if self.form == "float32" else "any"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        return self.tried[loss]

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        D = widest(self.name, self.form, split.n_items, budget)
        trained = self.train(
            split, D, loss=loss, settings=settings, seed=seed, device=device, epochs=epochs
        )
        started = time.perf_counter()
        stored = {"items": trained.items} if self.form == "float32" else as_bytes(trained.items)
        seconds = trained.seconds + time.perf_counter() - started
        return Fitted(self.form, stored, trained.users, D, seconds).within(budget)


def widest(method: str, form: str, n_items: int, budget: Budget) -> int:
    """The largest dimension, a prime above 64 aside, whose items and one vector of a person fit."""
    if form == "float32":
        D = budget.dimensions(items=n_items)
        least = FLOAT_BYTES * (n_items + 1)
    else:
        D = (budget.n_bytes - HALF_BYTES * n_items) // (n_items + FLOAT_BYTES)
        least = (HALF_BYTES + 1) * n_items + FLOAT_BYTES
    if D < 1:
        raise BudgetTooSmall(method, budget, least)
    return next(k for k in range(min(D, LARGEST), 0, -1) if all(blocks_of(k)))


def as_bytes(items: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers from -127 to 127, and a half-precision scale for each item."""
    scales = (np.abs(items).max(axis=1) / 127).astype(np.float16)
    safe = np.maximum(scales.astype(np.float32), np.finfo(np.float16).tiny)[:, None]
    numbers = np.clip(np.rint(items / safe), -127, 127).astype(np.int8)
    return {"numbers": numbers, "scales": scales}


@decoder("float32")
def plain(stored: Stored) -> np.ndarray:
    """(V, D) the items as they are."""
    return stored["items"]


@decoder("int8")
def from_bytes(stored: Stored) -> np.ndarray:
    """(V, D) bytes times scales."""
    scales = stored["scales"].astype(np.float32)[:, None]
    return np.asarray(stored["numbers"].astype(np.float32) * scales)
