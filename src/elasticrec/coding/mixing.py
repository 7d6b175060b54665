"""Mixing: how much a vote of the history counts beside the dense score, by menu row and person."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elasticrec.data.errors import InputError
from elasticrec.data.files import written_whole
from elasticrec.data.interactions import fingerprint

FORMAT = "elasticrec mixing 1"
"""What the first field of a saved mixing says."""
PERSONS = ("vector+history", "history")
"""The kinds of person, in the order of the columns of `Mixing.weights`."""


@dataclass(frozen=True, eq=False)
class Mixing:
    """Vote weights fitted once on validation; 0 where votes do not help or a row has none."""

    weights: np.ndarray
    """(R, 2) float32, one row per row of the menu: for a person known by a vector, by history."""
    by_root: bool
    """Whether a weight is divided by the square root of the history's length."""

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float32)
        object.__setattr__(self, "weights", weights)
        if weights.ndim != 2 or weights.shape[1] != len(PERSONS):
            raise InputError(f"mixing weights have shape {weights.shape}, expected (rows, 2)")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError("mixing weights hold a number that is negative or not finite")

    def column(self, person: str) -> np.ndarray:
        """(R,) the weights of one kind of person, `vector+history` or `history`."""
        if person not in PERSONS:
            raise InputError(f"person {person!r}, expected one of {', '.join(PERSONS)}")
        return np.asarray(self.weights[:, PERSONS.index(person)])

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint({"weights": self.weights, "by_root": np.array(self.by_root)})

    def save(self, path: Path | str) -> None:
        """Write one JSON file, whole or not at all."""
        # Every float32 is written as the shortest decimal that reads back as the same float32.
        rows = [[float(str(number)) for number in row] for row in self.weights]
        content = {"format": FORMAT, "by_root": bool(self.by_root), "weights": rows}
        with written_whole(path) as file:
            file.write((json.dumps(content, indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path | str) -> Mixing:
        """The weights that `save` wrote."""
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not JSON ({error}), expected mixing weights") from None
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise InputError(f"{path}: no mixing weights, expected a file that says {FORMAT!r}")
        return cls(np.array(stored["weights"], dtype=np.float32), bool(stored["by_root"]))
