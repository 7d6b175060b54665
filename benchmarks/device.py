"""Milliseconds of a question to the Python runtime, and of opening a stream, against plain NumPy.

    python -m benchmarks.device [--items 8828,40981,91599] [--bytes 6,20,54,110,270] [--rounds 15]

Streams of random codes of 128 dimensions and neighbours, at bytes per item. A person has 45 items.
`history` and `vector` are the 100 best items for her; their rival has all vectors in float32: a
matrix product and `argpartition`. `open` reads and checks a file (rival: its CRC-32 alone), `first`
is what the first question takes more than others: the items' lengths. `memory` is the peak of a
process that opens the file, which is mapped, and recommends; its rival needs the matrix alone.
Values are medians; `fastest` stands beside them, for machines on which other work runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison
from benchmarks.plain.stream import N_BLOCKS, make_stream
from experiments.provenance import ROOT

HISTORY, TOP = 45, 100
"""Items that a person has, and items that are listed."""
MEMORY_LIMIT, QUERY_LIMIT, OPEN_LIMIT = 64e6, 10.0, 500.0
"""Bytes beside the mapped file; milliseconds of a question up to 54 bytes per item, of opening."""
MEMORY = """
import sys, elasticrec_device
with elasticrec_device.open(sys.argv[1]) as stream:
    n = stream.info()["items"]
    for start in range(4):
        stream.recommend(range(start, n, n // 45), sys.argv[2], 100, why=True)
        stream.recommend(range(start, n, n // 45), k=100)
status = open("/proc/self/status").read().split()
print(int(status[status.index("VmHWM:") + 1]) * 1024)
"""


def milliseconds(asks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median and least (`fastest-…`) milliseconds of each, in turns: other work hits all alike."""
    walls: dict[str, list[float]] = {name: [] for name in asks}
    for turn in range(rounds + 2):
        for name, ask in asks.items():
            start = time.perf_counter()
            ask()
            if turn > 1:  # the first two warm up
                walls[name].append((time.perf_counter() - start) * 1e3)
    fastest = {f"fastest-{name}": min(each) for name, each in walls.items()}
    return fastest | {name: median(each) for name, each in walls.items()}


def measure(path: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of every task and rival, in this process."""
    sys.path.insert(0, str(ROOT / "device" / "python"))
    device = importlib.import_module("elasticrec_device")
    rng = np.random.default_rng(1)
    stream, vector = device.open(path), path.with_suffix(".vector")
    start = time.perf_counter()
    stream.recommend()
    first = (time.perf_counter() - start) * 1e3
    n_items = stream.info()["items"]
    history = rng.choice(n_items, HISTORY, replace=False).tolist()
    items = rng.standard_normal((n_items, 8 * N_BLOCKS), dtype=np.float32)
    user, file = items[0].copy(), path.read_bytes()

    def matrix() -> np.ndarray:
        scores = items @ user
        near = np.argpartition(scores, -TOP)[-TOP:]
        return near[np.argsort(-scores[near])]

    found = milliseconds(
        {
            "history": lambda: stream.recommend(history, k=TOP),
            "vector": lambda: stream.recommend(history, vector, TOP),
            "matrix": matrix,
            "open": lambda: device.open(path),
            "crc": lambda: zlib.crc32(file),
        },
        rounds,
    )
    return found | {"first": max(0.0, first - found["history"])}


def in_a_process(path: Path, rounds: int) -> dict[str, float]:
    """The numbers of `measure`, from a process of one thread."""
    env = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.device", "--file", str(path)]
    ran = subprocess.run(
        [*command, "--rounds", str(rounds)], check=True, stdout=subprocess.PIPE, env=env, cwd=ROOT
    )
    return dict(json.loads(ran.stdout))


def peak_bytes(path: Path) -> int:
    """Most memory of a process that opens a stream and recommends."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "device" / "python")}
    command = [sys.executable, "-c", MEMORY, str(path), str(path.with_suffix(".vector"))]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env).stdout)


def bench(n_items: int, bytes_per_item: float, rounds: int) -> list[str]:
    """Measure one size, append its lines, and name the limits that it missed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made.elastic"
        stream, vector = make_stream(n_items, bytes_per_item)
        path.write_bytes(stream)
        path.with_suffix(".vector").write_bytes(vector)
        found, memory = in_a_process(path, rounds), peak_bytes(path)
    rivals = {"history": "matrix", "vector": "matrix", "open": "crc", "first": None}
    named: dict[str, Any] = {"bytes_per_item": bytes_per_item, "file_bytes": len(stream)}
    config = {"items": n_items, "dimensions": 8 * N_BLOCKS, "top": TOP, "history": HISTORY}
    for method, rival in rivals.items():
        metrics = comparison(found[method], "ms", rival=found.get(rival or ""))
        metrics |= {"fastest": found.get(f"fastest-{method}"), "load": os.getloadavg()[0]}
        metrics["fastest_rival"] = found.get(f"fastest-{rival}")
        append("device", {"method": method, **named, "metrics": metrics, "config": config})
    metrics = comparison(memory / 1e6, "MB", rival=32 * N_BLOCKS * n_items / 1e6)
    append("device", {"method": "memory", **named, "metrics": metrics, "config": config})
    print(
        f"{n_items:,} items, {len(stream) / 1e6:.2f} MB: history {found['history']:.2f}, vector "
        f"{found['vector']:.2f}, numpy {found['matrix']:.2f}, open {found['open']:.0f}, first "
        f"{found['first']:.0f} ms; {memory / 1e6:.0f} MB",
        flush=True,
    )
    missed = {
        f"{memory / 1e6:.0f} MB of memory": memory > MEMORY_LIMIT + len(stream),
        f"opening takes {found['open']:.0f} ms": found["open"] > OPEN_LIMIT,
        f"a question takes {found['history']:.1f} ms": bytes_per_item <= 54
        and found["history"] > QUERY_LIMIT,
    }
    size = f"{n_items} items, {bytes_per_item:g} bytes per item"
    return [f"{size}: {name}" for name, is_missed in missed.items() if is_missed]


def main() -> int:
    """0 when every limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", default="8828,40981,91599")
    parser.add_argument("--bytes", default="6,20,54,110,270")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.file:
        print(json.dumps(measure(args.file, args.rounds)))
        return 0
    missed = []
    for n_items in map(int, args.items.split(",")):
        for bytes_per_item in map(float, args.bytes.split(",")):
            missed += bench(n_items, bytes_per_item, args.rounds)
    print("\n".join(f"not reached: {each}" for each in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
