"""Milliseconds of a question to the C runtime, by SIMD and plain, against the Python runtime.

    python -m benchmarks.c_runtime [--items 91599] [--bytes 54.6,273] [--rounds 25] [--sizes]

Streams of random codes of 128 dimensions and neighbours; a person has 45 items, 100 are listed, and
votes count. All runtimes are asked in turns in one run, and answer the same. Times are those of the
processor, for machines on which other work runs: medians, `fastest` beside them. `open` reads and
checks a stream, asks once and closes. `core` is the Python runtime with its C core, `webassembly` a
question in Node, against plain JavaScript. `memory` is what is taken beside the mapped file, by C
and by the others. `--sizes` also measures the bytes of machine code by target, as zig builds them
with -Os; that has no rival.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.crafted import in_javascript
from benchmarks.lines import append, comparison
from benchmarks.plain.stream import N_BLOCKS, make_stream
from experiments.provenance import ROOT
from tests.device import c_runtime, c_targets, native_python

HISTORY, TOP = 45, 100
"""Items that a person has, and items that are listed."""
LIMITS = {54.6: {"simd": 1.5, "plain": 4.0}, 273.0: {"simd": 6.0, "plain": 15.0}}
"""Milliseconds by bytes per item and way, for 91,599 items."""
WAYS = {"simd": 1, "plain": 0}
"""Whether shuffles are used."""


def measure(
    driver: Path, core: Any, data: bytes, history: list[int], rounds: int
) -> dict[str, Any]:
    """Milliseconds of each round of each way and of Python, in turns; and bytes of memory."""
    sys.path.insert(0, str(ROOT / "device" / "python"))
    pythons = {"core": core, "python": importlib.import_module("elasticrec_device")}
    streams = {name: module.open(data) for name, module in pythons.items()}
    stream = streams["python"]
    devices = {name: c_runtime.Device([str(driver)], simd) for name, simd in WAYS.items()}
    opened = {name: device.open(data) for name, device in devices.items()}
    expected = [(item.id, item.score) for item in stream.recommend(history, k=TOP)]
    for name, each in (opened | {"core": streams["core"]}).items():
        if [(item.id, item.score) for item in each.recommend(history, k=TOP)] != expected:
            raise RuntimeError(f"{name} answers otherwise than Python")
    ids = ",".join(map(str, history))
    walls: dict[str, list[float]] = {name: [] for name in (*devices, *streams)}
    for _ in range(rounds):
        for name, device in devices.items():
            walls[name] += [float(wall) for wall in device.ask(f"speed 3 {TOP} {ids}")[1:]]
        for name, each in streams.items():
            start = time.process_time()
            each.recommend(history, k=TOP)
            walls[name].append((time.process_time() - start) * 1e3)
    fast = devices["simd"]
    found: dict[str, Any] = {"walls": walls, "open": float(fast.ask(f"cycle 5 {TOP} {ids}")[0])}
    for name, module in pythons.items():
        tracemalloc.start()
        with module.open(data) as again:
            again.recommend(history, k=TOP)
        found[f"memory of {name}"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    one = opened["simd"]
    found["memory"] = one.stream_bytes + max(one.work_bytes, one.question_bytes)
    for device in devices.values():
        device.close()
    return found


def bench(driver: Path, core: Any, n_items: int, bytes_per_item: float, rounds: int) -> list[str]:
    """Measure one size, append its lines, and name the limits that it missed."""
    data, _ = make_stream(n_items, bytes_per_item)
    history = np.random.default_rng(1).choice(n_items, HISTORY, replace=False).tolist()
    found = measure(driver, core, data, history, rounds)
    walls: dict[str, list[float]] = found["walls"]
    named: dict[str, Any] = {"bytes_per_item": bytes_per_item, "file_bytes": len(data)}
    config = {"items": n_items, "dimensions": 8 * N_BLOCKS, "top": TOP, "history": HISTORY}
    for name in (*WAYS, "core"):
        metrics = comparison(median(walls[name]), "ms", rival=median(walls["python"]))
        metrics |= {"fastest": min(walls[name]), "fastest_rival": min(walls["python"])}
        metrics["load"] = os.getloadavg()[0]
        append("c-runtime", {"method": name, **named, "metrics": metrics, "config": config})
    for name in ("open", "memory", "memory of python", "memory of core"):
        limit = 4 * n_items + 65536 if name == "memory" else None
        metrics = comparison(found[name], "ms" if name == "open" else "bytes", rival=limit)
        append("c-runtime", {"method": name, **named, "metrics": metrics, "config": config})
    shown = ", ".join(f"{name} {median(each):.2f}" for name, each in walls.items())
    print(f"{n_items:,} items, {len(data) / 1e6:.2f} MB: {shown} ms; open {found['open']:.0f} ms")
    limits = LIMITS.get(bytes_per_item, {}) if n_items == 91_599 else {}
    missed = [name for name, most in limits.items() if median(walls[name]) > most]
    missed += ["memory"] if found["memory"] > 4 * n_items + 65536 else []
    return [f"{n_items} items, {bytes_per_item:g} bytes per item: {name}" for name in missed]


def in_node(folder: Path, n_items: int, bytes_per_item: float) -> None:
    """Append what Node takes, by WebAssembly and by plain JavaScript."""
    path = folder / "made.elastic"
    path.write_bytes(make_stream(n_items, bytes_per_item)[0])
    words = ["node", str(ROOT / "device" / "wasm" / "bench.js"), str(path)]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = json.loads(said)
    metrics = comparison(found["webassembly"], "ms", rival=found["javascript"])
    config = {"items": n_items, "dimensions": 8 * N_BLOCKS, "top": TOP, "history": HISTORY}
    named = {"bytes_per_item": bytes_per_item, "file_bytes": path.stat().st_size}
    append("c-runtime", {"method": "webassembly", **named, "metrics": metrics, "config": config})
    *_, memory = in_javascript(folder, path.read_bytes(), list(range(HISTORY)), b"", 1)
    metrics = comparison(memory - path.stat().st_size, "bytes")
    fields = {"method": "memory of javascript", **named, "metrics": metrics, "config": config}
    append("c-runtime", fields)
    print(f"in Node: {said.strip()}")


def sizes(folder: Path) -> None:
    """Append the bytes of machine code for each target."""
    for target in c_targets.TARGETS:
        size = c_targets.code_bytes(c_targets.build_object(target, folder))
        fields = {"method": f"size on {target.name}", "triple": target.triple}
        append("c-runtime", {**fields, "metrics": comparison(size, "bytes"), "config": {}})
        print(f"{target.name}: {size:,} bytes of code")


def main() -> int:
    """0 when every limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=91_599)
    parser.add_argument("--bytes", default="54.6,273")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--sizes", action="store_true")
    args = parser.parse_args()
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        parser.exit(2, "found neither gcc nor clang, expected one\n")
    missed = []
    with TemporaryDirectory() as name:
        driver = c_runtime.build([compiler], Path(name) / "driver")
        core = native_python.with_core(Path(name))
        for bytes_per_item in map(float, args.bytes.split(",")):
            missed += bench(driver, core, args.items, bytes_per_item, args.rounds)
            if shutil.which("node"):
                in_node(Path(name), args.items, bytes_per_item)
        if args.sizes:
            sizes(Path(name))
    print("\n".join(f"not reached: {each}" for each in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
