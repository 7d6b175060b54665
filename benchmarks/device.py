"""Milliseconds per person and peak memory of the device runtimes, from 1 to 25 MB.

    python -m benchmarks.device [--people 30] [--items 91599,105843] [--megabytes 1,5,10,25]

Bundles of Amazon-Book's and of the paper's Yelp size, random codes and neighbours; `columns` is
one of codes alone, the hardest to score. A person has a server vector and 45 items. Scoring,
the 100 best and the full sorted list (the paper's task) are apart. Beside the Python runtime, and
in turns with it, so that other work on the machine hits all alike: NumPy with all vectors in
float32, at the 256 dimensions that models have ("full size", against which the limit is checked)
and at 128; the loops of `device_loop.c` over the same columns; faiss where it is installed. Node is
measured by its own benchmark, on one core. On several cores each takes a person of its own. All
times are medians. Memory is VmHWM of a process that does nothing but open a bundle and recommend.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison
from benchmarks.plain.bundle import N_BLOCKS, make_bundle
from benchmarks.plain.device import Loop, faiss_rivals, node_times, numpy_rivals
from experiments.provenance import ROOT

FULL, HALF, HISTORY = 8 * N_BLOCKS, 128, 45
"""Dimensions of the two matrices of NumPy, and items that a person has."""
MEMORY_LIMIT, TOP_LIMIT, NODE_LIMIT = 64e6, 20.0, 15.0
"""Bytes at every size; at 5 MB milliseconds for the 100 best, and for scoring by Node."""
NUMPY_LIMIT, LOOP_LIMIT = 1.5, 3.0
"""How many times as long as each rival scoring may take at 5 MB: NumPy at full size, the loops."""
MEMORY = """
import sys, elasticrec_device
with elasticrec_device.open(sys.argv[1]) as bundle:
    for start in range(4):
        bundle.recommend(range(start, 91000, 2000), sys.argv[2], 100, why=True)
        bundle.recommend(range(start, 91000, 2000), k=100)
status = open("/proc/self/status").read().split()
print(int(status[status.index("VmHWM:") + 1]) * 1024)
"""


def milliseconds(asks: dict[str, Callable[[], object]], times: int, cores: int) -> dict[str, float]:
    """Milliseconds per person of each contender, the median over their turns."""
    walls: dict[str, list[float]] = {name: [] for name in asks}
    with ThreadPoolExecutor(cores) as pool:
        for turn in range(times + 2):
            for name, ask in asks.items():
                start = time.perf_counter()
                list(pool.map(lambda _, ask=ask: ask(), range(cores)))
                if turn > 1:  # the first two warm up
                    walls[name].append((time.perf_counter() - start) / cores * 1e3)
    return {name: float(np.median(each)) for name, each in walls.items()}


def measure(path: Path, people: int, cores: int) -> dict[str, Any]:
    """Milliseconds per person of every contender, in this process."""
    sys.path.insert(0, str(ROOT / "device" / "python"))
    device = importlib.import_module("elasticrec_device")
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    bundle = device.open(path)
    opening = (time.perf_counter() - start) * 1e3
    history = np.unique(rng.integers(0, bundle.V, HISTORY))
    ids, vector = history.tolist(), path.with_suffix(".vector")

    def scorer() -> Any:
        return device._Scorer(bundle, bundle.server_vector(vector), history, False)

    items = rng.standard_normal((bundle.V, FULL), dtype=np.float32)
    user = rng.standard_normal(FULL).astype(np.float32)
    half = np.ascontiguousarray(items[:, :HALF])
    asks: dict[str, Callable[[], object]] = {
        "scoring": lambda: [first for first, _ in scorer().stretches()],
        "top-100": lambda: bundle.recommend(ids, vector, 100),
        "top-100-history": lambda: bundle.recommend(ids, k=100),
        "full-list": lambda: scorer().best(bundle.V, history, None),
    }
    for matrix in (items, half):
        rivals = numpy_rivals(matrix, user[: matrix.shape[1]])
        asks |= {f"numpy {matrix.shape[1]} {task}": ask for task, ask in rivals.items()}
    asks |= faiss_rivals(items, user, 1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            loop = Loop(Path(folder)).prepare(scorer(), device._kinds)
            whole = np.concatenate([scores.copy() for _, scores in scorer().stretches()])
            if not np.array_equal(loop(), whole):
                raise AssertionError("the loops in C and the runtime score differently")
            if cores == 1:
                asks["loop"] = loop
        except FileNotFoundError as error:
            print(f"without the loops in C: {error}", file=sys.stderr)
    return {"opening": opening, **milliseconds(asks, people, cores)}


def in_a_process(path: Path, people: int, cores: int) -> dict[str, Any]:
    """What `measure` gives in a process that may use so many cores."""
    env = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    arguments = ["--file", str(path), "--people", str(people), "--cores", str(cores)]
    command = [sys.executable, "-m", "benchmarks.device", *arguments]
    mine = sorted(os.sched_getaffinity(0))[-cores:]
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=lambda: os.sched_setaffinity(0, mine),
    )
    return dict(json.loads(done.stdout))


def peak_bytes(path: Path) -> int:
    """The most memory that a process holds which opens a bundle and recommends."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "device" / "python")}
    command = [sys.executable, "-c", MEMORY, str(path), str(path.with_suffix(".vector"))]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env).stdout)


def report(times: dict[str, Any], size: dict[str, Any], cores: int, node: dict[str, float]) -> None:
    """Append a line for each task and print them."""
    beside = {"scoring": "scoring", "top-100": "top100", "full-list": "full_sort"}
    for task in ("scoring", "top-100", "top-100-history", "full-list"):
        full, half = (times[f"numpy {n} {task.removesuffix('-history')}"] for n in (FULL, HALF))
        metrics = comparison(times[task], "ms per person", rival=full) | {f"numpy_{HALF}": half}
        if task == "scoring" and "loop" in times:
            metrics["c_loop"] = times["loop"]
        if task == "top-100":
            metrics |= {name: ms for name, ms in times.items() if name.startswith("faiss")}
        if node and cores == 1 and task in beside:
            metrics["node"] = node[f"{beside[task]}_median_ms"]
        metrics["load"] = os.getloadavg()[0]
        rival = f"numpy, float32, {FULL} dimensions (full size); numpy_{HALF}: the same at {HALF}"
        config = {**size, "cores": cores, "rival": rival}
        budget = {"budget_mb": size["megabytes"], "file_bytes": size["file_bytes"]}
        append("device", {"method": task, **budget, "metrics": metrics, "config": config})
        more = "".join(
            f", {name} {metrics[name]:.1f}" for name in ("c_loop", "node") if name in metrics
        )
        rivals = f"numpy at {FULL} {full:.1f}, at {HALF} {half:.1f}{more}"
        print(f"  {cores} cores {task:16} {times[task]:7.1f} ms ({rivals})", flush=True)


def missed_limits(alone: dict[str, Any], node: dict[str, float]) -> list[str]:
    """What was not reached at 5 MB on one core; says too which rivals there were not."""
    missed, ours = [], alone["scoring"]
    for rival, limit in ((f"numpy {FULL} scoring", NUMPY_LIMIT), ("loop", LOOP_LIMIT)):
        if rival not in alone:
            print(f"  {rival}: not measured, so its limit was not checked")
        elif ours > limit * alone[rival]:
            missed.append(f"scoring takes {ours / alone[rival]:.2f} times {rival}")
    if alone["top-100"] > TOP_LIMIT:
        missed.append(f"the 100 best take {alone['top-100']:.1f} ms")
    if not node:
        print("  node: not measured, so its limit was not checked")
    elif node["scoring_median_ms"] > NODE_LIMIT:
        missed.append(f"scoring takes node {node['scoring_median_ms']:.1f} ms")
    return missed


def bench(n_items: int, megabytes: float, columns: bool, people: int, cores: int) -> list[str]:
    """What was not reached at one size, after measuring it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.elastic"
        bundle, vector = make_bundle(n_items, megabytes, columns, seed=0)
        path.write_bytes(bundle)
        path.with_suffix(".vector").write_bytes(vector)
        size: dict[str, Any] = {"items": n_items, "megabytes": megabytes, "file_bytes": len(bundle)}
        size["keeps"] = "columns" if columns else "columns and neighbours"
        print(f"{n_items:,} items, {len(bundle) / 1e6:.2f} MB, {size['keeps']}")
        memory, node = peak_bytes(path), node_times(path, path.with_suffix(".vector"), people)
        metrics = comparison(memory / 1e6, "MB", rival=node.get("rss_bytes", 0) / 1e6 or None)
        budget = {"budget_mb": megabytes, "file_bytes": len(bundle)}
        config = {**size, "rival": "node"}
        append("device", {"method": "peak-memory", **budget, "metrics": metrics, "config": config})
        print(f"  peak memory {memory / 1e6:.1f} MB (node {metrics['rival'] or 0:.0f})")
        missed = [] if memory < MEMORY_LIMIT else [f"{memory / 1e6:.1f} MB of memory"]
        alone = in_a_process(path, people, 1)
        report(alone, size, 1, node)
        if cores > 1:
            report(in_a_process(path, people, cores), size, cores, {})
    return missed + (missed_limits(alone, node) if megabytes == 5 else [])


def main() -> int:
    """0 when every limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--items", default="91599,105843")
    parser.add_argument("--megabytes", default="1,5,10,25")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.file:
        print(json.dumps(measure(args.file, args.people, args.cores)))
        return 0
    missed = []
    for n_items in map(int, args.items.split(",")):
        for megabytes in map(float, args.megabytes.split(",")):
            for columns in (False, True) if megabytes == 5 else (False,):
                found = bench(n_items, megabytes, columns, args.people, args.cores)
                missed += [f"{n_items} items, {megabytes:g} MB: {each}" for each in found]
    print("\n".join(f"not reached: {each}" for each in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
