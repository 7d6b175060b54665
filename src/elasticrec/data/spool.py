"""Spools: columns that grow, in memory while they are short, then in files that are mapped."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from elasticrec.engine import ranges

AT_ONCE = 1 << 20
"""Rows handled at once."""
IN_MEMORY = 1 << 22
"""Values of a column that are kept in memory; a longer one is a file without a name."""


class Spool:
    """A column that values are added to."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        self._parts: list[np.ndarray] = []
        self._file: IO[bytes] | None = None

    def add(self, values: np.ndarray) -> None:
        """Add values at the end."""
        self._parts.append(np.ascontiguousarray(values, self.dtype))
        self.length += len(values)
        if self._file is None and self.length > IN_MEMORY:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the column)
        if self._file is not None:
            for part in self._parts:
                self._file.write(part.data)
            self._parts.clear()

    def array(self) -> np.ndarray:
        """All values; nothing is added any more."""
        if self._file is None:
            return np.concatenate([np.empty(0, self.dtype), *self._parts])
        with self._file as file:
            file.flush()
            return np.asarray(np.memmap(file, self.dtype, "r+", shape=(self.length,)))


def room(length: int, dtype: npt.DTypeLike) -> np.ndarray:
    """An array to be filled in, in memory or mapped."""
    if length <= IN_MEMORY:
        return np.empty(length, dtype)
    with tempfile.TemporaryFile() as file:
        return np.asarray(np.memmap(file, dtype, "w+", shape=(length,)))


def stretches(length: int, *arrays: np.ndarray) -> Iterator[slice]:
    """Rows after rows of parallel arrays, which give their memory back after each stretch."""
    for start in range(0, length, AT_ONCE):
        yield slice(start, min(start + AT_ONCE, length))
        release(*arrays)


def release(*arrays: np.ndarray | None) -> None:
    """Give the memory of mapped arrays back; they are read anew from their files where needed."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)


def taken(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """`values[at]`, for a long `at`."""
    found = Spool(values.dtype)
    for rows in stretches(len(at), at):
        found.add(values[at[rows]])
    return found.array()


def in_ranges(columns: list[np.ndarray], n: int) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """Ranges of the first column's values, which are below `n`, and the rows of each range.

    There are few enough rows in a range to work with; they keep their sequence.
    """
    length, counts = len(columns[0]), np.zeros(n, dtype=np.int64)
    for rows in stretches(length, columns[0]):
        counts += np.bincount(columns[0][rows], minlength=n)
    spans = ranges(counts, AT_ONCE)
    ends = np.append(0, np.cumsum(counts))[[0, *(stop for _, stop in spans)]]
    if len(spans) > 1:
        bucket = np.repeat(np.arange(len(spans)), [stop - start for start, stop in spans])
        given, columns = columns, [room(length, each.dtype) for each in columns]
        free = ends[:-1].copy()
        for rows in stretches(length, *given, *columns):
            of = bucket[given[0][rows]].astype(np.uint16)
            by_bucket = np.argsort(of, kind="stable")
            sizes = np.bincount(of, minlength=len(free))
            at = np.repeat(free - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(of))
            for column, target in zip(given, columns, strict=True):
                target[at] = column[rows][by_bucket]
            free += sizes
    for span, first, last in zip(spans, ends, ends[1:], strict=False):
        yield slice(*span), [each[first:last] for each in columns]
        release(*columns)
