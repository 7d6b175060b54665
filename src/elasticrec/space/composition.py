"""Composition: what each group keeps of its items. Menu: the rows our search composes from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.data.interactions import fingerprint

F32 = 32
"""The depth of a block kept whole, as 32-bit floats: the paper's setting."""
DEEPEST = 8
"""The largest depth in planes; depths are 0 (dropped), 1 to 8, or `F32`."""
FORMAT = "elasticrec composition 1"
"""What the first field of a saved composition says."""


def check_rows(depths: np.ndarray, neighbours: np.ndarray, noun: str) -> None:
    """Refuse depths that are not (·, N) of known values, or neighbours that do not match them."""
    if depths.ndim != 2 or 0 in depths.shape:
        raise InputError(f"depths have shape {depths.shape}, expected ({noun}s, blocks)")
    if neighbours.shape != depths.shape[:1]:
        raise InputError(
            f"neighbours have shape {neighbours.shape}, expected one count per {noun}: "
            f"({depths.shape[0]},)"
        )
    odd = depths[(depths > DEEPEST) & (depths != F32)]
    if odd.size:
        raise InputError(f"depth {odd[0]} does not exist, expected 0 to {DEEPEST}, or {F32}")


def frozen_bytes(values: Any, name: str) -> np.ndarray:
    """A read-only uint8 copy of whole numbers from 0 to 255."""
    given = np.asarray(values)
    if given.dtype.kind not in "iub" or not np.array_equal(given.astype(np.uint8), given):
        raise InputError(f"{name} must be whole numbers from 0 to 255, got {given.dtype} values")
    out = given.astype(np.uint8)
    out.setflags(write=False)
    return out


@dataclass(frozen=True, eq=False)
class Composition:
    """What each group keeps: depths of its blocks and a count of neighbours; never changes."""

    depths: np.ndarray
    """(G, N) uint8: 0 dropped, 1 to 8 planes, `F32` whole."""
    neighbours: np.ndarray
    """(G,) uint8: neighbours that each item of the group carries."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "depths", frozen_bytes(self.depths, "depths"))
        object.__setattr__(self, "neighbours", frozen_bytes(self.neighbours, "neighbours"))
        check_rows(self.depths, self.neighbours, "group")

    @classmethod
    def of_mask(cls, kept: np.ndarray) -> Composition:
        """The composition that keeps some blocks whole: the paper's 0/1 mask (G, N)."""
        depths = np.where(np.asarray(kept, dtype=bool), F32, 0)
        return cls(depths, np.zeros(len(depths), dtype=np.uint8))

    @classmethod
    def full(cls, n_groups: int, n_blocks: int) -> Composition:
        """Every block of every group, whole."""
        return cls.of_mask(np.ones((n_groups, n_blocks), dtype=bool))

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.depths.shape[0])

    @property
    def n_blocks(self) -> int:
        """N."""
        return int(self.depths.shape[1])

    @property
    def kept(self) -> np.ndarray:
        """(G, N) bool: which blocks are kept at any depth."""
        return self.depths > 0

    def contains(self, other: Composition) -> bool:
        """Whether every group keeps at least what it keeps in the other one."""
        deeper = self.depths >= other.depths
        return bool(deeper.all() and (self.neighbours >= other.neighbours).all())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composition):
            return NotImplemented
        return np.array_equal(self.depths, other.depths) and np.array_equal(
            self.neighbours, other.neighbours
        )

    def __hash__(self) -> int:
        return hash((self.depths.shape, self.depths.tobytes(), self.neighbours.tobytes()))

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint({"depths": self.depths, "neighbours": self.neighbours})

    def summary(self) -> str:
        """One line: groups, blocks kept, their range over groups, depths in use, neighbours."""
        counts = self.kept.sum(axis=1)
        used = sorted({int(depth) for depth in self.depths[self.kept]})
        names = ", ".join("f32" if depth == F32 else str(depth) for depth in used) or "none"
        line = (
            f"{self.n_groups} groups keep {counts.sum()} of {self.kept.size} blocks "
            f"({counts.min()} to {counts.max()} each), depths {names}"
        )
        if self.neighbours.any():
            line += f", {self.neighbours.min()} to {self.neighbours.max()} neighbours"
        return line

    def save(self, path: Path | str, *, model_id: str, about: dict[str, Any] | None = None) -> None:
        """Write one JSON file, whole or not at all, for the model it was made for.

        Args:
            about: plain facts to keep beside it, such as its bytes and its estimate.
        """
        lines = [
            f'"format": {json.dumps(FORMAT)}',
            f'"model_id": {json.dumps(model_id)}',
            f'"about": {json.dumps(about or {})}',
            '"depths": [\n    ' + ",\n    ".join(map(str, self.depths.tolist())) + "\n  ]",
            f'"neighbours": {self.neighbours.tolist()}',
        ]
        text = "{\n  " + ",\n  ".join(lines) + "\n}\n"
        with written_whole(path) as file:
            file.write(text.encode())

    @classmethod
    def load(cls, path: Path | str, *, model_id: str | None = None) -> Composition:
        """The composition that `save` wrote; one made for another model is refused.

        Args:
            model_id: the model it shall fit; None takes any.
        """
        stored = read_saved(path)
        if model_id is not None and stored["model_id"] != model_id:
            raise InputError(
                f"{path}: made for model {stored['model_id']}, expected model {model_id}"
            )
        return cls(np.array(stored["depths"]), np.array(stored["neighbours"]))


@dataclass(frozen=True, eq=False)
class Menu:
    """Rows that a group may be given: depths of the N blocks and a count of neighbours."""

    depths: np.ndarray
    """(R, N) uint8."""
    neighbours: np.ndarray
    """(R,) uint8."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "depths", frozen_bytes(self.depths, "depths"))
        object.__setattr__(self, "neighbours", frozen_bytes(self.neighbours, "neighbours"))
        check_rows(self.depths, self.neighbours, "row")
        if len(self.lookup()) < self.n_rows:
            raise InputError(f"a menu of {self.n_rows} rows repeats one, expected distinct rows")

    @classmethod
    def f32_prefixes(cls, order: np.ndarray, *, include_empty: bool = False) -> Menu:
        """Rows that keep the first 1, 2, … N blocks of an order whole; `include_empty` adds 0.

        Args:
            order: (N,) block numbers, the most valuable first (`space.energy`).
        """
        order = np.asarray(order)
        N = len(order)
        if not np.array_equal(np.sort(order), np.arange(N)):
            raise InputError(f"order must hold each block 0 to {N - 1} once, got {order.tolist()}")
        rank = np.empty(N, dtype=np.int64)
        rank[order] = np.arange(N)
        widths = np.arange(0 if include_empty else 1, N + 1)
        depths = np.where(rank[None, :] < widths[:, None], F32, 0)  # (R, N)
        return cls(depths, np.zeros(len(widths), dtype=np.uint8))

    @property
    def n_rows(self) -> int:
        """R."""
        return int(self.depths.shape[0])

    @property
    def n_blocks(self) -> int:
        """N."""
        return int(self.depths.shape[1])

    def lookup(self) -> dict[bytes, int]:
        """The row number behind the bytes of each row."""
        together = np.column_stack([self.depths, self.neighbours])
        return {row.tobytes(): number for number, row in enumerate(together)}

    def compose(self, choice: np.ndarray) -> Composition:
        """The composition that gives group g the row `choice[g]`."""
        return Composition(self.depths[choice], self.neighbours[choice])

    def choice_of(self, composition: Composition) -> np.ndarray:
        """(G,) the row of each group; a group whose row is not on the menu is refused."""
        lookup = self.lookup()
        together = np.column_stack([composition.depths, composition.neighbours])
        found = [lookup.get(row.tobytes(), -1) for row in together]
        if -1 in found:
            group = found.index(-1)
            raise InputError(
                f"group {group} keeps {composition.depths[group].tolist()} and "
                f"{composition.neighbours[group]} neighbours, which is no row of this menu"
            )
        return np.array(found, dtype=np.int64)

    def contained(self) -> np.ndarray:
        """(R, R) bool: row r is part of row s, which has at least its depths and neighbours."""
        deeper = (self.depths[:, None, :] <= self.depths[None, :, :]).all(axis=2)
        return deeper & (self.neighbours[:, None] <= self.neighbours[None, :])

    def fingerprint(self) -> str:
        """Hex sha256 of the rows, in their order."""
        return fingerprint({"depths": self.depths, "neighbours": self.neighbours})

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all."""
        with written_whole(path) as file:
            np.savez(file, depths=self.depths, neighbours=self.neighbours)

    @classmethod
    def load(cls, path: Path | str) -> Menu:
        """The menu that `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["depths"], stored["neighbours"])


def read_saved(path: Path | str) -> dict[str, Any]:
    """The fields of a saved composition: `model_id`, `about`, `depths`, `neighbours`."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON ({error}), expected a saved composition") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise InputError(f"{path}: not a composition, expected a file that says {FORMAT!r}")
    missing = {"model_id", "about", "depths", "neighbours"} - stored.keys()
    if missing:
        raise InputError(f"{path}: lacks {', '.join(sorted(missing))}")
    rows = stored["depths"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InputError(f"{path}: depths are not rows of depths, one row per group")
    if len({len(row) for row in rows}) != 1:
        raise InputError(f"{path}: rows of depths differ in length, expected one per block each")
    return stored
