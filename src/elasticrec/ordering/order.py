"""Order: the one sequence in which items climb; each prefix of it is a composition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import fingerprint, written_whole
from elasticrec.space import Composition

COLUMN, SLOT = 0, 1
"""Kinds of step: a range of items gets its next column, or its next neighbour slot."""


@dataclass(frozen=True, eq=False)
class Order:
    """Steps over V items; a range that gets column c has columns 0 … c - 1 already."""

    n_items: int
    """V."""
    kind: np.ndarray
    """(n,) uint8: `COLUMN` or `SLOT`."""
    which: np.ndarray
    """(n,) int64: the column or slot."""
    first: np.ndarray
    """(n,) int64: the first item of the range."""
    count: np.ndarray
    """(n,) int64: how many items."""
    least: int
    """Steps of the smallest useful prefix."""

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def of_steps(cls, n_items: int, steps: list[tuple[int, int, int, int]], least: int) -> Order:
        """The order of steps (kind, which, first, count); empty ranges are left out."""
        kept = np.array([s for s in steps if s[3] > 0], dtype=np.int64).reshape(-1, 4)
        empty = sum(1 for s in steps[:least] if s[3] <= 0)
        kind, which, first, count = kept.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least - empty)

    @classmethod
    def of_composition(cls, composition: Composition) -> Order:
        """An order whose whole is one composition: its columns, then its slots."""
        steps: list[tuple[int, int, int, int]] = []
        for kind, have in ((COLUMN, composition.columns), (SLOT, composition.slots)):
            for n in range(int(have.max(initial=0))):
                edges = np.flatnonzero(np.diff(np.concatenate(([0], have > n, [0]))))
                ranges = edges.reshape(-1, 2).tolist()
                steps += [(kind, n, start, stop - start) for start, stop in ranges]
        return cls.of_steps(composition.n_items, steps, len(steps))

    def composition(self, n_steps: int | None = None) -> Composition:
        """The composition after some steps; after all of them by default."""
        have = np.zeros((2, self.n_items), dtype=np.int64)
        steps = zip(self.kind, self.which, self.first, self.count, strict=True)
        for kind, which, first, count in [*steps][:n_steps]:
            part = have[kind, first : first + count]
            if len(part) != count or (part != which).any():
                raise InputError(
                    f"a step gives {('column', 'slot')[kind]} {which} to items from {first} on, "
                    f"which have {np.unique(part).tolist()}"
                )
            part += 1
        return Composition(have[COLUMN], have[SLOT])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        steps = np.column_stack([self.kind, self.which, self.first, self.count]).astype(np.int64)
        return {"steps": steps, "shape": np.array([self.n_items, self.least], dtype=np.int64)}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez_compressed(file, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> Order:
        """The order that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            steps, (n_items, least) = stored["steps"], stored["shape"].tolist()
        kind, which, first, count = steps.T
        return cls(n_items, kind.astype(np.uint8), which, first, count, least)
