"""The rivals of the device benchmark: plain NumPy, faiss where it is installed, and loops in C."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.provenance import ROOT

Ask = Callable[[], object]
COMPILE = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")
FAISS = {"faiss-flat": "Flat", "faiss-sq8": "SQ8", "faiss-pq": "PQ16x8"}
"""Indices of faiss by the names it knows them by."""


def numpy_rivals(items: np.ndarray, user: np.ndarray) -> dict[str, Ask]:
    """Scoring, the 100 best and the full list with all vectors in float32."""

    def best() -> np.ndarray:
        scores = items @ user
        near = np.argpartition(scores, -100)[-100:]
        return near[np.argsort(-scores[near])]

    return {
        "scoring": lambda: items @ user,
        "top-100": best,
        "full-list": lambda: np.argsort(-(items @ user)),
    }


def faiss_rivals(items: np.ndarray, user: np.ndarray, cores: int) -> dict[str, Ask]:
    """The 100 best by some indices of faiss; none where it is not installed."""
    if importlib.util.find_spec("faiss") is None:
        return {}
    import faiss

    faiss.omp_set_num_threads(cores)
    asks: dict[str, Ask] = {}
    for name, words in FAISS.items():
        index = faiss.index_factory(items.shape[1], words, faiss.METRIC_INNER_PRODUCT)
        index.train(items[:10_000])  # what it learns does not matter for its speed
        index.add(items)
        asks[name] = lambda index=index: index.search(user[None], 100)  # type: ignore[misc]
    return asks


class Loop:
    """The loops of `device_loop.c` over the columns of an open bundle."""

    def __init__(self, folder: Path) -> None:
        """Compile them; FileNotFoundError where there is no C compiler."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise FileNotFoundError("no C compiler `cc`")
        library = folder / "device_loop.so"
        source = ROOT / "benchmarks" / "device_loop.c"
        subprocess.run([compiler, *COMPILE, str(source), "-o", str(library)], check=True)
        self._loops = ctypes.CDLL(str(library))

    def prepare(
        self, scorer: Any, kinds: Callable[[bytes, int], np.ndarray]
    ) -> Callable[[], np.ndarray]:
        """Scores of all items, in an array; `kinds` of columns and tables are made beforehand."""
        file, history = scorer.file, scorer.history
        scores = np.zeros(file.V, dtype=np.float32)
        in_history = np.zeros(file.V, dtype=np.uint8)
        in_history[history] = 1
        calls = []
        for g in range(file.G):
            part = scores[file.starts[g] : file.starts[g + 1]]
            look_ups = scorer._make_look_ups(kinds(file.depths[g].tobytes(), file.K))
            tables = np.array([look_up.__self__ for look_up in look_ups], dtype=np.float32)
            calls.append((g, part, tables))

        def score() -> np.ndarray:
            for g, part, tables in calls:
                n, offset = ctypes.c_int64(len(part)), ctypes.c_float(scorer.offsets[g])
                at, slots = int(file.codes_at[g]), int(file.slots_at[g])
                part[:] = scorer.offsets[g]
                if len(tables):
                    columns, n_columns = _at(file.codes, at), ctypes.c_int64(len(tables))
                    shared = (_at(tables), _at(file.gains), offset, _at(part))
                    self._loops.look_up(columns, n, n_columns, *shared)
                if file.counts[g]:
                    counts = [
                        ctypes.c_int64(int(c)) for c in (file.counts[g], file.full, file.rest)
                    ]
                    weight = ctypes.c_float(scorer.weights[g])
                    shared = (_at(in_history), _at(file.votes), weight, _at(part))
                    self._loops.vote(_at(file.slots, slots), n, *counts, *shared)
            return scores

        return score


def _at(array: np.ndarray, offset: int = 0) -> ctypes.c_void_p:
    """Where an array lies, for C."""
    return ctypes.c_void_p(array.ctypes.data + offset)


def node_times(bundle: Path, vector: Path, people: int) -> dict[str, float]:
    """Milliseconds of the JavaScript runtime on one core; empty without Node."""
    node, bench = shutil.which("node"), ROOT / "device" / "js" / "bench.js"
    if node is None or not bench.exists():
        return {}
    command = [node, str(bench), str(bundle), "--vector", str(vector), "--people", str(people)]
    core = sorted(os.sched_getaffinity(0))[-1:]
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )
    return dict(json.loads(done.stdout))
