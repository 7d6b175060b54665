"""FileAccounting: the length of a bundle, by a closed formula (docs/bundle-format.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space.budget import Accounting
from elasticrec.space.composition import DEEPEST, Composition

BLOCK = 8
"""Numbers per block: a plane of a block is one byte per item."""
ALIGNMENT = 64
"""Every section starts at a multiple of it."""
PREFIX_BYTES, ENTRY_BYTES = 64, 32
"""What stands before the section table, and one entry of it."""
SHAPE_BYTES, META_BYTES, GROUP_BYTES = 64, 512, 16
STEPS = DEEPEST * (DEEPEST + 1) // 2
"""Steps a(b, p) of the depths b = 1 … 8 and planes p < b."""
DECODE_BYTES = 4 * (STEPS + 256 + 16)
"""Steps, values of gains and values of votes; three scales of each block come before them."""
WORDS, LETTERS_BYTES = 32, 256 * BLOCK
"""Words of a list, each of D bytes; and all letters."""
VECTOR_PREFIX_BYTES = 48
"""What stands before the numbers in a person's vector file."""
MOST_NEIGHBOURS = 64
MOST_ITEMS, MOST_GROUPS, MOST_BLOCKS = 2**26, 4096, 256


def aligned(offset: int) -> int:
    """The next place at which a section may start."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def number_bits(n_items: int) -> int:
    """Bits of one neighbour's number: the binary digits of V - 1, at least 1."""
    return max(1, (n_items - 1).bit_length())


def slot_bytes(n_items: int, sizes: np.ndarray) -> np.ndarray:
    """(G,) int64 bytes that one neighbour of every item takes in groups of these sizes (page, 7).

    Args:
        n_items: V, of all groups together.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    full, rest = divmod(number_bits(n_items), 8)
    taken: np.ndarray = full * sizes + rest * (-(-sizes // 8)) + -(-sizes // 2)
    return taken


@dataclass(frozen=True, eq=False)
class FileAccounting(Accounting):
    """Ours: every byte of the file, and those of a person's vector where one is reserved.

    `size`, `sizes` and `file_bytes` are exact. `fixed_bytes` plus the rows of `row_table` is as
    much or up to 190 bytes more (padding at its worst): what a ladder lets pass fits exactly.
    """

    group_sizes: np.ndarray
    """(G,) items per group."""
    n_blocks: int
    """N."""
    id_bytes: int = field(default=0, kw_only=True)
    """Length of the section with the ids; 0 where an id is the item's number."""
    n_withdrawn: int = field(default=0, kw_only=True)
    """Items that are never listed."""
    n_lists: int = field(default=0, kw_only=True)
    """K: lists of words."""
    map: bool = field(default=False, kw_only=True)
    """Whether the D×D map is stored."""
    vector: bool = field(default=True, kw_only=True)
    """Whether bytes are reserved for a vector from the server."""

    def __post_init__(self) -> None:
        sizes = np.asarray(self.group_sizes)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or sizes.min() < 1:
            raise InputError(f"groups of sizes {sizes.tolist()}, expected none empty")
        object.__setattr__(self, "group_sizes", sizes.astype(np.int64))
        limits = (
            ("items", self.n_items, 1, MOST_ITEMS),
            ("groups", len(sizes), 1, MOST_GROUPS),
            ("blocks", self.n_blocks, 1, MOST_BLOCKS),
            ("lists of words", self.n_lists, 0, self.n_blocks),
            ("bytes of ids", self.id_bytes, 0, 2**40),
            ("withdrawn items", self.n_withdrawn, 0, self.n_items),
        )
        for noun, found, least, most in limits:
            if not least <= found <= most:
                raise InputError(f"{found} {noun}, a bundle holds {least} to {most}")

    @property
    def n_items(self) -> int:
        """V."""
        return int(self.group_sizes.sum())

    @property
    def reserved_bytes(self) -> int:
        """What a person's vector file takes beside the bundle, or 0."""
        return VECTOR_PREFIX_BYTES + 2 * BLOCK * self.n_blocks if self.vector else 0

    @property
    def needs_block(self) -> bool:
        """A group may keep neighbours alone, or nothing."""
        return False

    @property
    def fixed_bytes(self) -> int:
        """What any composition costs at most: all sections but codes and neighbours, padded."""
        slack = ALIGNMENT - 1
        tail = self._tail_bytes()
        before = self._start(neighbours=True) + slack
        return before + (slack + tail if tail else 0) + self.reserved_bytes

    def row_table(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(G, R) int64 bytes of codes and neighbours of every group under every row."""
        depths, neighbours = self._checked(depths, neighbours)
        codes = self.group_sizes[:, None] * _bytes_per_item(depths)[None, :]
        slots = slot_bytes(self.n_items, self.group_sizes)[:, None] * neighbours[None, :]
        table: np.ndarray = codes + slots
        return table

    def sizes(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) int64 bytes of many files, the reserved ones included."""
        depths, neighbours = self._checked(depths, neighbours)
        codes = _bytes_per_item(depths) @ self.group_sizes  # (B,)
        slots = neighbours @ slot_bytes(self.n_items, self.group_sizes)  # (B,)
        tail = self._tail_bytes()
        total: np.ndarray = codes + np.where(
            slots > 0, self._start(neighbours=True), self._start(neighbours=False)
        )
        total = np.where(slots > 0, _aligned(total) + slots, total)
        return (_aligned(total) + tail if tail else total) + self.reserved_bytes

    def file_bytes(self, composition: Composition) -> int:
        """The exact length of the bundle that keeps a composition."""
        return self.size(composition) - self.reserved_bytes

    def _start(self, *, neighbours: bool) -> int:
        """Where the codes start."""
        G, N = len(self.group_sizes), self.n_blocks
        beside = (self.map, self.id_bytes > 0, self.n_withdrawn > 0, self.n_lists > 0)
        n_sections = 6 + neighbours + sum(beside)
        at = PREFIX_BYTES + ENTRY_BYTES * n_sections
        means, decode = (G + 1) * BLOCK * N * 2, 12 * N + DECODE_BYTES
        for length in (SHAPE_BYTES, META_BYTES, G * (GROUP_BYTES + N), means, decode):
            at = aligned(at) + length
        return aligned(at)

    def _tail_bytes(self) -> int:
        """Map, ids, withdrawn items and words, with the padding between them; 0 without any."""
        at = 0
        D = BLOCK * self.n_blocks
        square = 2 * D * D if self.map else 0
        words = WORDS * D * self.n_lists + LETTERS_BYTES if self.n_lists else 0
        for length in (square, self.id_bytes, 4 * self.n_withdrawn, words):
            at = aligned(at) + length if length else at
        return at

    def _checked(self, depths: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both as int64; what no bundle can hold is refused."""
        if depths.shape[-1] != self.n_blocks:
            raise InputError(f"rows of {depths.shape[-1]} blocks, expected {self.n_blocks}")
        if depths.max(initial=0) > DEEPEST:
            raise InputError(f"depth {depths.max()}, a bundle holds depths of 0 to {DEEPEST}")
        if neighbours.max(initial=0) > MOST_NEIGHBOURS:
            raise InputError(
                f"{neighbours.max()} neighbours per item, a bundle holds 0 to {MOST_NEIGHBOURS}"
            )
        return depths.astype(np.int64), neighbours.astype(np.int64)


def _bytes_per_item(depths: np.ndarray) -> np.ndarray:
    """(…) bytes of one item's codes: its planes, and its gain where there is a plane."""
    planes = depths.sum(axis=-1)
    each: np.ndarray = planes + (planes > 0)
    return each


def _aligned(offsets: np.ndarray) -> np.ndarray:
    """The next places at which sections may start."""
    places: np.ndarray = -(-offsets // ALIGNMENT) * ALIGNMENT
    return places
