"""Payloads of a stream's chunks, from codes and neighbours."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.errors import InputError
from elasticrec.stream.format import CODEWORDS, MAX_COLUMNS, MAX_SLOTS, check_float

if TYPE_CHECKING:
    from elasticrec.compression.codes import Codes
    from elasticrec.compression.neighbours import Neighbours


def slot_payload(neighbours: Neighbours, slot: int, first: int, count: int) -> bytes:
    """The payload of one slot of some items (section 4)."""
    n_items = len(neighbours.numbers)
    bits = max(1, (n_items - 1).bit_length())
    numbers = neighbours.numbers[first : first + count, slot].astype(np.uint32)
    rows = [(numbers >> 8 * row).astype(np.uint8).tobytes() for row in range(bits // 8)]
    for bit in range(bits - bits % 8, bits):
        rows.append(np.packbits((numbers >> bit & 1).astype(np.uint8), bitorder="little").tobytes())
    votes = np.zeros(count + count % 2, dtype=np.uint8)
    votes[:count] = neighbours.votes[first : first + count, slot]
    rows.append((votes[0::2] | votes[1::2] << 4).tobytes())
    return b"".join(rows)


def column_entry(codebook: int, block: int, scale: int, weights: np.ndarray) -> bytes:
    """The 16 bytes that open one column (section 3)."""
    return struct.pack("<HHHHff", codebook, block, scale, 0, *map(float, weights))


def check_parts(codes: Codes, neighbours: Neighbours, weights: np.ndarray) -> None:
    """Refuse codes, neighbours and vote weights that do not fit together or the format."""
    C, V = codes.data.shape
    if codes.data.dtype != np.uint8 or codes.columns.shape != (C, 3) or C > MAX_COLUMNS:
        raise InputError(
            f"{C} columns of {codes.data.dtype} described by {codes.columns.shape}, expected at "
            f"most {MAX_COLUMNS} of uint8 described by ({C}, 3)"
        )
    N = len(codes.empty) // 8
    for number, book in enumerate(codes.codebooks):
        wide = book.ndim == 2 and book.shape[1] % 8 == 0 and 8 <= book.shape[1] <= 8 * N
        if book.dtype != np.int8 or len(book) != CODEWORDS or not wide:
            raise InputError(
                f"codebook {number} is {book.dtype} {book.shape}, expected int8 ({CODEWORDS}, w), "
                f"w a multiple of 8 up to {8 * N}"
            )
    if weights.shape != (C + 1, 2):
        raise InputError(f"vote weights {weights.shape}, expected ({C + 1}, 2)")
    for weight in weights.ravel().tolist():
        check_float("vote weight", weight)
    _check_neighbours(neighbours, V)


def _check_neighbours(neighbours: Neighbours, n_items: int) -> None:
    """Refuse lists that break a rule of section 4."""
    numbers, votes = neighbours.numbers, neighbours.votes
    if numbers.shape != votes.shape or len(numbers) != n_items or numbers.shape[1] > MAX_SLOTS:
        raise InputError(
            f"neighbours {numbers.shape} with votes {votes.shape}, expected ({n_items}, S) both, "
            f"S at most {MAX_SLOTS}"
        )
    if not numbers.size:
        return
    if int(numbers.max()) >= n_items:
        raise InputError(f"neighbour {int(numbers.max())}, expected item numbers below {n_items}")
    if int(votes.max()) > 15 or bool((votes[:, 1:] > votes[:, :-1]).any()):
        raise InputError("votes above 15 or rising along a list, expected 15 to 0, falling")
    if bool(numbers[votes == 0].any()):
        raise InputError("an empty slot names a neighbour, expected number 0 where the vote is 0")
