"""Upgrades: what turns one bundle into another of the same model, by copies of equal columns."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from elasticrec.bundle.header import Kind, Layout
from elasticrec.data.errors import InputError
from elasticrec.space.file_bytes import slot_bytes

MAGIC = b"\x89ELPATCH"
VERSION = 1
INSERT = 2**64 - 1
"""Stands in place of an offset where bytes come from the patch."""
OPERATION = struct.Struct("<QQ")
WORTH_COPYING = 2 * OPERATION.size
"""A copy between two inserts costs two operations: a shorter one does not pay."""

Name = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """Some consecutive bytes of a bundle that mean the same in every bundle of its model."""

    name: Name
    """What they are: a section, or in a section a group and a column. Names rise with offsets."""
    start: int
    """Where they stand."""
    stop: int
    """Where they end."""


@dataclass
class Run:
    """Consecutive bytes of the new file: all of them copied, or all of them inserted."""

    old: int | None
    """Where they stand in the old file; None where they are inserted."""
    start: int
    """Where they stand in the new one."""
    stop: int
    """Where they end there."""


def make_patch(old: bytes, new: bytes) -> bytes:
    """The patch (page, 15) that makes `new` of `old`; bundles of two models are refused."""
    before, after = Layout.of(old), Layout.of(new)
    if before.model_id != after.model_id or before.sizes.tolist() != after.sizes.tolist():
        raise InputError(
            f"an upgrade from model {before.model_id.hex()} to model {after.model_id.hex()}, "
            "expected two bundles of one model"
        )
    runs = list(_merged(_without_short_copies(_merged(_runs(old, new, before, after)))))
    operations = b"".join(
        OPERATION.pack(INSERT if run.old is None else run.old, run.stop - run.start) for run in runs
    )
    inserted = b"".join(new[run.start : run.stop] for run in runs if run.old is None)
    head = struct.pack("<8sHHIQQ", MAGIC, VERSION, 0, len(runs), len(old), len(new))
    hashes = hashlib.sha256(old).digest() + hashlib.sha256(new).digest()
    return head + hashes + operations + inserted


def pieces(layout: Layout) -> Iterator[Piece]:
    """The pieces of a bundle in order: whole sections, but codes and neighbours by columns."""
    for kind, (start, length) in layout.sections.items():
        if kind == Kind.CODES:
            yield from _code_columns(layout, start)
        elif kind == Kind.NEIGHBOURS:
            yield from _slots(layout, start)
        else:
            yield Piece((kind,), start, start + length)


def _code_columns(layout: Layout, at: int) -> Iterator[Piece]:
    """Each group's gains, then each plane of each block."""
    for g, (size, depths) in enumerate(zip(layout.sizes.tolist(), layout.depths, strict=True)):
        if not depths.any():
            continue
        names: list[Name] = [(Kind.CODES, g)]
        names += [(Kind.CODES, g, n, p) for n, b in enumerate(depths.tolist()) for p in range(b)]
        for name in names:
            yield Piece(name, at, at + size)
            at += size


def _slots(layout: Layout, at: int) -> Iterator[Piece]:
    """Each slot of each group."""
    lengths = slot_bytes(layout.shape["n_items"], layout.sizes).tolist()
    for g, (length, count) in enumerate(zip(lengths, layout.neighbours.tolist(), strict=True)):
        for k in range(count):
            yield Piece((Kind.NEIGHBOURS, g, k), at, at + length)
            at += length


def _runs(old: bytes, new: bytes, before: Layout, after: Layout) -> Iterator[Run]:
    """The new file from its start to its end, piece by piece and padding by padding."""
    known = {piece.name: piece for piece in pieces(before)}
    at = 0
    for piece in pieces(after):
        if piece.start > at:
            yield Run(None, at, piece.start)  # header or padding
        match = known.get(piece.name)
        same = match and old[match.start : match.stop] == new[piece.start : piece.stop]
        if piece.stop > piece.start:
            yield Run(match.start if match and same else None, piece.start, piece.stop)
        at = piece.stop
    if len(new) > at:
        yield Run(None, at, len(new))


def _merged(runs: Iterator[Run]) -> Iterator[Run]:
    """The same runs, neighbours joined where they continue each other in both files."""
    held: Run | None = None
    for run in runs:
        if held is not None and _continues(held, run):
            held.stop = run.stop
            continue
        if held is not None:
            yield held
        held = run
    if held is not None:
        yield held


def _continues(held: Run, run: Run) -> bool:
    """Whether one operation can do the work of two runs, the second right after the first."""
    if held.old is None or run.old is None:
        return held.old is run.old
    return held.old + held.stop - held.start == run.old


def _without_short_copies(runs: Iterator[Run]) -> Iterator[Run]:
    """The same runs, with inserts for copies that cost more than they save."""
    for run in runs:
        if run.old is not None and run.stop - run.start < WORTH_COPYING:
            run.old = None
        yield run
