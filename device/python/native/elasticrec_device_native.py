"""Ranks the streams of elasticrec_device by the C runtime, through ctypes: the same lists, sooner.

Importing it raises ImportError where its library could not be built; elasticrec_device then ranks
by NumPy.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

NONE = 0xFFFFFFFF  # no item
ID = np.dtype([("text", np.uintp), ("number", np.uint64)], align=True)
ITEM = np.dtype([("score", "i8"), ("item", "u4"), ("why", "u4"), ("slot", "u4")], align=True)
Pointer, Size = ctypes.c_void_p, ctypes.c_size_t


class Sizes(ctypes.Structure):
    """The struct elasticrec_sizes."""

    _fields_ = (("stream", Size), ("work", Size))


class Answer(ctypes.Structure):
    """The struct elasticrec_answer."""

    _fields_ = (("listed", ctypes.c_uint32), ("unknown", ctypes.c_uint32))


class Question(ctypes.Structure):
    """The struct elasticrec_question."""

    _fields_ = (
        *(("history", Pointer), ("n_history", Size), ("exclude", Pointer), ("n_exclude", Size)),
        *(("only", Pointer), ("n_only", Size), ("vector", Pointer), ("vector_bytes", Size)),
        *(("diversity", ctypes.c_double), ("k", ctypes.c_uint32)),
        *(("repeat", ctypes.c_int), ("why", ctypes.c_int)),
    )


def library() -> Any:
    """The C runtime, which lies beside this file."""
    try:
        found = ctypes.CDLL(str(Path(__file__).with_name("libelasticrec.so")))
    except OSError as error:
        raise ImportError(f"no C runtime: {error}") from error
    P, N = Pointer, Size
    found.elasticrec_native_bytes.restype = found.elasticrec_question_bytes.restype = N
    found.elasticrec_size.argtypes = (P, N, N, P, P)
    found.elasticrec_native_open.argtypes = (P, P, N, P, N, P, N, P)
    found.elasticrec_withdraw.argtypes = (P, P, N, P)
    found.elasticrec_question_bytes.argtypes = (P, P)
    found.elasticrec_recommend.argtypes = (P, P, P, N, P, P, P)
    return found


C = library()


def room(n_bytes: int) -> Array:
    """New memory, aligned to 8."""
    return np.empty((n_bytes + 7) // 8, np.uint64)


def take(verdict: int) -> None:
    """Refuse a verdict that cannot be: elasticrec_device checks all before."""
    if verdict:
        raise AssertionError("the C runtime refuses what elasticrec_device takes")


class Native:
    """The C runtime on the bytes of a stream, and of its withdrawn items, that break no rule."""

    def __init__(self, data: Array, withdrawn: bytes) -> None:
        sizes, n, self._data = Sizes(), len(data), data  # whose bytes must stay
        take(C.elasticrec_size(data.ctypes.data, n, n, ctypes.byref(sizes), None))
        self._memory, work = room(sizes.stream), room(sizes.work)
        self._stream = room(C.elasticrec_native_bytes())
        self._at = self._stream.ctypes.data
        rooms = self._memory.ctypes.data, sizes.stream, work.ctypes.data, sizes.work
        take(C.elasticrec_native_open(self._at, data.ctypes.data, n, *rooms, None))
        if withdrawn:
            file = np.frombuffer(withdrawn, np.uint8)
            take(C.elasticrec_withdraw(self._at, file.ctypes.data, len(file), None))

    def best(
        self,
        history: Array,
        vector: bytes,
        k: int,
        exclude: Array,
        only: Array | None,
        repeat: bool,
        diversity: float,
    ) -> tuple[list[int], list[int], list[int | None]]:
        """Items, scores, and the history item that votes most for each, all by item numbers."""
        n, m = len(history), len(history) + len(exclude)
        ids, file = np.zeros(m + (0 if only is None else len(only)) + 1, ID), room(len(vector))
        ids["number"][:n], ids["number"][n:m] = history, exclude
        if only is not None:
            ids["number"][m:-1] = only
        file.view(np.uint8)[: len(vector)] = np.frombuffer(vector, np.uint8)
        start, step = ids.ctypes.data, ID.itemsize
        question = Question(
            *(start, n, start + n * step, m - n),
            *(None if only is None else start + m * step, len(ids) - 1 - m),
            *(file.ctypes.data if vector else None, len(vector)),
            *(diversity, k, repeat, True),
        )
        asked, items, answer = ctypes.byref(question), np.empty(k, ITEM), Answer()
        work = room(size := C.elasticrec_question_bytes(self._at, asked))
        given = asked, work.ctypes.data, size, items.ctypes.data, ctypes.byref(answer), None
        take(C.elasticrec_recommend(self._at, *given))
        rows = items[: answer.listed]
        voters = [None if each == NONE else each for each in rows["why"].tolist()]
        return rows["item"].tolist(), rows["score"].tolist(), voters
