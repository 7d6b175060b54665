"""Material: everything that the bundles of one model are made of, checked once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.bundle.catalogue import catalogue
from elasticrec.bundle.header import LARGEST_FLOAT, PERSONS, IdKind
from elasticrec.bundle.ids import id_section, storable
from elasticrec.coding.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.coding.neighbours import Neighbours, check_lists
from elasticrec.data.errors import InputError
from elasticrec.evaluation.persons import stored_map
from elasticrec.space.composition import Menu
from elasticrec.space.file_bytes import FileAccounting, number_bits

NO_CATALOGUE = bytes(32)
"""What a bundle holds in place of the hash of its catalogue where there is none."""


@dataclass(frozen=True, eq=False)
class Material:
    """What a model gives to its bundles; packing only copies from it."""

    codes: Codes
    """Bit planes, gains and means of all items."""
    neighbours: Neighbours
    """The items' lists."""
    mixing: Mixing
    """Vote weights of the menu's rows."""
    menu: Menu
    """The rows from which compositions come."""
    model_id: str
    """Hex sha256, as `model.json` names it."""
    trained: int = 0
    """Date of the training in seconds since 1970."""
    person: str = "vector+history"
    """Whom the bundles are for: `vector+history`, or `history` where no vector comes."""
    ids: np.ndarray | list[str] | None = None
    """(V,) uint32 or uint64, or V strings; None where an id is the item's number."""
    catalogue_sha256: bytes | None = None
    """Hash of the file with ids and titles."""
    fold_map: np.ndarray | None = None
    """(D, D) float16, rotated: turns the sum of a history's items into a person's vector."""

    def __post_init__(self) -> None:
        if self.person not in PERSONS:
            raise InputError(f"person {self.person!r}, expected one of {', '.join(PERSONS)}")
        if len(self.model_id) != 64:
            raise InputError(f"model id {self.model_id!r}, expected 64 hexadecimal digits")
        V, D = self.codes.n_items, self.codes.dimensions
        R = self.menu.n_rows
        shapes: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
            ("neighbours", self.neighbours.numbers, (V, self.neighbours.slots)),
            ("weights of neighbours", self.neighbours.weights, (V, self.neighbours.slots)),
            ("mixing weights", self.mixing.weights, (R, 2)),
            ("means", self.codes.means, (self.codes.n_groups, D)),
            ("the map", self.fold_map, (D, D)),
            ("scales", self.codes.scales, (self.codes.n_blocks, 3)),
            ("words", self.codes.words, (self.codes.n_lists, 32, self.codes.dimensions)),
            ("letters", self.codes.letters, (256 if self.codes.n_lists else 0, 8)),
        )
        for noun, array, expected in shapes:
            if array is not None and array.shape != expected:
                raise InputError(f"{noun} of shape {array.shape}, expected {expected}")
        if self.menu.n_blocks != self.codes.n_blocks:
            raise InputError(
                f"a menu of {self.menu.n_blocks} blocks, expected {self.codes.n_blocks}"
            )
        check_lists(self.menu.neighbours, self.neighbours)
        if self.ids is not None and len(self.ids) != V:
            raise InputError(f"{len(self.ids)} ids, expected one for each of {V} items")
        self._check_floats()
        self._check_neighbours()

    @classmethod
    def of(
        cls,
        folder: ModelFolder,
        ids: Literal["none", "original"] = "none",
        map: bool = False,  # noqa: A002
    ) -> Material:
        """The material of a model folder that holds codes, neighbours, mixing and menu.

        Args:
            ids: whether bundles hold the original ids, or speak of items by number.
            map: whether bundles hold the table's map from a history to a vector.
        """
        if ids not in ("none", "original"):
            raise InputError(f"ids {ids!r}, expected 'none' or 'original'")
        split, table = folder.split(), folder.table()
        codes = folder.load_part("codes", Codes.load)
        date = folder.about.get("trained")
        seconds = 0
        if date is not None:
            seconds = int(datetime.fromisoformat(str(date)).replace(tzinfo=UTC).timestamp())
        written = catalogue(split.item_ids, split.titles, folder.model_id)
        return cls(
            codes,
            folder.load_part("neighbours", Neighbours.load),
            folder.load_part("mixing", Mixing.load),
            folder.load_part("menu", Menu.load),
            folder.model_id,
            seconds,
            "history" if table.users is None else "vector+history",
            storable(split.item_ids) if ids == "original" else None,
            hashlib.sha256(written).digest(),
            stored_map(codes, table.fold_map) if map else None,
        )

    @property
    def group_sizes(self) -> np.ndarray:
        """(G,) int64 items per group."""
        return np.diff(self.codes.bounds)

    @property
    def id_kind(self) -> IdKind:
        """How ids are stored."""
        if self.ids is None:
            return IdKind.DENSE
        if isinstance(self.ids, list):
            return IdKind.STRINGS
        return IdKind.U32 if self.ids.dtype == np.uint32 else IdKind.U64

    @cached_property
    def id_bytes(self) -> bytes:
        """The section with the ids; empty where an id is the item's number."""
        return id_section(self.ids)

    @cached_property
    def slots(self) -> list[list[bytes]]:
        """For each group the packed columns (page, 7) of each slot that a row of the menu keeps."""
        bits = number_bits(self.codes.n_items)
        return [
            [
                packed_slot(self.neighbours.numbers[a:b, k], self.neighbours.weights[a:b, k], bits)
                for k in range(int(self.menu.neighbours.max()))
            ]
            for a, b in zip(self.codes.bounds[:-1], self.codes.bounds[1:], strict=True)
        ]

    def accounting(self, n_withdrawn: int = 0) -> FileAccounting:
        """What compositions of this model cost, and the bytes reserved for a person's vector."""
        return FileAccounting(
            self.group_sizes,
            self.codes.n_blocks,
            id_bytes=len(self.id_bytes),
            n_withdrawn=n_withdrawn,
            n_lists=self.codes.n_lists,
            map=self.fold_map is not None,
            vector=self.person == "vector+history",
        )

    def _check_floats(self) -> None:
        """Refuse a number that no bundle may hold."""
        signed = {"means": self.codes.means, "the mean person": self.codes.person}
        signed["steps"] = self.codes.steps
        if self.fold_map is not None:
            signed["the map"] = self.fold_map
        positive = {"scales": self.codes.scales, "gains": self.codes.gain_values}
        positive |= {"votes": self.neighbours.values, "mixing weights": self.mixing.weights}
        for noun, array in (signed | positive).items():
            least = 0 if noun in positive else -LARGEST_FLOAT
            wide = array.astype(np.float32)
            if not ((wide >= least) & (wide <= LARGEST_FLOAT)).all():
                raise InputError(f"{noun} hold a number that is not within {least} and 10^6")
        if self.neighbours.values[0] != 0:
            raise InputError(f"an empty slot votes {self.neighbours.values[0]}, expected 0")

    def _check_neighbours(self) -> None:
        """Refuse lists that are not as the page says."""
        numbers, weights = self.neighbours.numbers, self.neighbours.weights
        if int(numbers.max(initial=0)) >= self.codes.n_items:
            raise InputError(f"neighbour {numbers.max()} of {self.codes.n_items} items")
        if int(weights.max(initial=0)) > 15 or (weights[:, 1:] > weights[:, :-1]).any():
            raise InputError("neighbours' weights must be 0 to 15 and never rise along a list")
        if numbers[weights == 0].any():
            raise InputError("an empty slot holds a neighbour, expected 0")


def packed_slot(numbers: np.ndarray, weights: np.ndarray, bits: int) -> bytes:
    """One slot of one group: byte columns, then bit planes of the numbers, then 4-bit weights.

    Args:
        numbers, weights: (n,) of the group's items.
        bits: of one number.
    """
    wide = np.ascontiguousarray(numbers, dtype="<u4").view(np.uint8).reshape(-1, 4)
    full, rest = divmod(bits, 8)
    columns = [wide[:, c].tobytes() for c in range(full)]
    for r in range(rest):
        plane = (wide[:, full] >> r) & 1
        columns.append(np.packbits(plane, bitorder="little").tobytes())
    halves = np.zeros((len(weights) + 1) // 2 * 2, dtype=np.uint8)
    halves[: len(weights)] = weights
    columns.append((halves[0::2] | (halves[1::2] << 4)).tobytes())
    return b"".join(columns)
