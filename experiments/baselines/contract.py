"""The contract of every compared method: fit to a budget, evaluate, save, load.

A `Fitted` holds the arrays that a device would hold, so that its bytes are counted: `n_bytes` is
their length plus that of one person's vector. Scores are made from these arrays alone. A method may
number the items on a device as it likes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.evaluation.ranking import (
    Evaluation,
    Part,
    Queries,
    evaluate_vectors,
    queries_of,
)
from elasticrec.files import written_whole
from elasticrec.space import Budget

Stored = Mapping[str, np.ndarray]
Decoder = Callable[[Stored], np.ndarray]
DECODERS: dict[str, Decoder] = {}
"""By the name of a form: what its stored arrays mean, item vectors (V, k)."""


class BudgetTooSmall(InputError):  # noqa: N818 – the word that everyone uses
    """A method cannot be stored in so few bytes."""

    def __init__(self, method: str, budget: Budget, smallest: int) -> None:
        super().__init__(
            f"{method} cannot be stored in {budget.n_bytes} bytes; the smallest possible is "
            f"{smallest}"
        )
        self.smallest = smallest


def decoder(form: str) -> Callable[[Decoder], Decoder]:
    """Register what a form's stored arrays mean, under a name that a saved file keeps."""

    def register(decode: Decoder) -> Decoder:
        DECODERS[form] = decode
        return decode

    return register


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained method, exactly as a device would hold it, and the vectors a server would send."""

    form: str
    """A name of `DECODERS`, by which `stored` is read."""
    stored: dict[str, np.ndarray]
    """The arrays on the device, each in the type it is stored in."""
    users: np.ndarray
    """(U, k) vectors that a server sends, one to each person."""
    dimensions: int
    """Numbers that a person's vector and an item's have in common."""
    seconds: float
    """Time to train and to code."""
    order: np.ndarray | None = None
    """(V,) the split's number of each item on the device; None where they are numbered alike."""

    @property
    def n_bytes(self) -> int:
        """All that a device needs to rank for one person."""
        return self.users[:1].nbytes + sum(array.nbytes for array in self.stored.values())

    def evaluate(
        self,
        split: Split,
        metrics: Iterable[str] = DEFAULT_METRICS,
        users: np.ndarray | None = None,
        device: str = "auto",
        part: Part = "test",
    ) -> Evaluation:
        """Metrics of a part, exact and from the stored arrays; values per user are kept.

        Args:
            users: numbers of those to measure on; by default everyone.
            part: `test`, or `validation` for tuning.
        """
        asked = self._renumbered(queries_of(split, part, users))
        decoded = DECODERS[self.form](self.stored)
        return evaluate_vectors(
            self.users[asked.users].astype(np.float32), decoded, asked,
            metrics=metrics, device=device,
        )  # fmt: skip

    def _renumbered(self, asked: Queries) -> Queries:
        """The same queries in the device's numbers of items."""
        if self.order is None:
            return asked
        new_of_old = np.empty(len(self.order), dtype=np.int64)
        new_of_old[self.order] = np.arange(len(self.order))
        return replace(
            asked,
            seen=asked.seen.renumbered(new_of_old),
            relevant=asked.relevant.renumbered(new_of_old),
        )

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        about = {"form": self.form, "dimensions": self.dimensions, "seconds": self.seconds}
        arrays = {f"stored.{name}": array for name, array in self.stored.items()}
        arrays["users"] = self.users
        if self.order is not None:
            arrays["order"] = self.order
        with written_whole(path) as file:
            np.savez(file, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Fitted:
        """The method that `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in file.files}
        stored = {
            name.removeprefix("stored."): array
            for name, array in arrays.items()
            if name.startswith("stored.")
        }
        return cls(
            about["form"], stored, arrays["users"], about["dimensions"], about["seconds"],
            arrays.get("order"),
        )  # fmt: skip

    def within(self, budget: Budget) -> Fitted:
        """Itself; more bytes than the budget are a mistake of the method, never a result."""
        if self.n_bytes > budget.n_bytes:
            raise ValueError(f"{self.n_bytes} bytes, expected at most {budget.n_bytes}")
        return self


class Baseline(Protocol):
    """A compared method."""

    @property
    def name(self) -> str:
        """The method's name in result lines."""
        ...

    @property
    def losses(self) -> tuple[str, ...]:
        """`paper` (its own) and `ours`."""
        ...

    @property
    def sizes(self) -> str:
        """`retrained`: for 5, 10 and 25 MB alone; `any`: for 1 and 2 MB, too."""
        ...

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """Settings to be tried on validation, four for each row of the table.

        So two per loss where the better of two losses counts; one where nothing is to be tuned.
        """
        ...

    def fit(
        self,
        split: Split,
        budget: Budget,
        *,
        loss: str,
        settings: dict[str, Any],
        seed: int,
        device: str,
        epochs: int | None = None,
    ) -> Fitted:
        """The method, trained on train and stored in at most the budget's bytes.

        Raises BudgetTooSmall, which knows the smallest size, where it cannot be.

        Args:
            settings: one of `trials`.
            epochs: times each train pair is visited; None as many as suit the method.
        """
        ...


def pack(numbers: np.ndarray, bits: int) -> np.ndarray:
    """(bits, ⌈n/8⌉) uint8: bit b of all n numbers, eight to a byte, for every bit."""
    flat = numbers.reshape(-1)
    return np.stack([np.packbits(flat >> b & 1) for b in range(bits)])


def unpack(planes: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64 the numbers that `pack` packed."""
    total = np.zeros(n, dtype=np.int64)
    for b, plane in enumerate(planes):
        total |= np.unpackbits(plane, count=n).astype(np.int64) << b
    return total


def packed_bytes(n: int, bits: int) -> int:
    """Bytes that `pack` makes of n numbers."""
    return bits * -(-n // 8)


def code_scales(scales: np.ndarray) -> dict[str, np.ndarray]:
    """Positive numbers (V,) as bytes, by equal steps of their logarithm, and the two ends."""
    logs = np.log(np.maximum(scales.astype(np.float64), 1e-12))
    ends = np.array([logs.min(), logs.max()], dtype=np.float32)
    step = max(float(ends[1] - ends[0]), 1e-9) / 255
    codes = np.clip(np.rint((logs - ends[0]) / step), 0, 255).astype(np.uint8)
    return {"scales": codes, "scale_ends": ends}


def decode_scales(codes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(V,) float32 the numbers that `code_scales` coded, within half a step."""
    step = (ends[1] - ends[0]) / np.float32(255)
    return np.asarray(np.exp(ends[0] + step * codes.astype(np.float32)), dtype=np.float32)


SCALE_ENDS_BYTES = 8
"""Bytes that `code_scales` stores beside one for each item."""
