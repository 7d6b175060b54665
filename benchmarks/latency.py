"""Milliseconds of a question on few cores and in little memory, ours beside RULE's own.

    python -m benchmarks.latency [--items 91599] [--rounds 40]

The paper's devices have one core and 64 MB, or more cores and 512 MB (Sec. 4.4); here one and two
cores of this machine, by `taskset`, and a limit of the process's address space, by `prlimit`. Files
of 5, 10 and 25 MB, 10^6 bytes each. RULE keeps what its randomizer draws for the budget, and ranks
by Eq. 2 in C, with as many threads as cores; ours is asked in C and through the Python runtime, by
one thread each. All list the 100 best items. A runtime that does not start in so little memory has
a line that says so. Values are medians of questions of many persons; `fastest` stands beside them,
for machines on which other work runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.lines import append, comparison, read
from benchmarks.plain.stream import N_BLOCKS, make_stream
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.free_blocks import FreeBlocks, random_groups
from elasticrec.rule.search_space import random_candidate
from elasticrec.space import Budget
from experiments.provenance import ROOT

MEGABYTES = (5, 10, 25)
CORES, LIMITS_MB = (1, 2), (64, 512)
GROUPS, BLOCK, TOP = 20, 8, 100
SOURCE = ROOT / "benchmarks" / "plain" / "latency.c"
PYTHON = """
import json, sys, time
import elasticrec_device
stream, walls = elasticrec_device.open(sys.argv[1]), []
n = stream.info()["items"]
for round in range(int(sys.argv[2])):
    start = time.perf_counter()
    stream.recommend(range(round, n, n // 44), k=100)
    walls.append((time.perf_counter() - start) * 1e3)
print(" ".join(map(str, walls)))
"""


def build(folder: Path) -> Path:
    """The program that asks; RULE's products may be added in any order, as is fastest."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("found neither gcc nor clang, expected one")
    program = folder / "latency"
    # elasticrec.h refuses -ffast-math, so RULE's sums alone may be reordered.
    words = [compiler, "-O3", "-march=native", "-fassociative-math", "-fno-signed-zeros",
             "-fno-trapping-math", str(SOURCE), "-o", str(program), "-pthread"]  # fmt: skip
    subprocess.run(words, check=True)
    return program


def rule_file(n_items: int, mb: int, seed: int = 0) -> bytes:
    """What RULE keeps within a budget: groups, masks, and random blocks of their items."""
    rng = np.random.default_rng(seed)
    space = FreeBlocks(random_groups(n_items, GROUPS, rng), N_BLOCKS, BLOCK, SpaceConfig.printed())
    kept = random_candidate(space, Budget.parse(f"{mb}MB"), rng)
    parts = [struct.pack("<2I", GROUPS, N_BLOCKS)]
    for size, blocks in zip(space.group_sizes.tolist(), kept, strict=True):
        mask = sum(1 << n for n in np.flatnonzero(blocks).tolist())
        parts.append(struct.pack("<2I", size, mask))
    numbers = int((space.group_sizes * kept.sum(axis=1)).sum()) * BLOCK
    parts.append(rng.standard_normal(numbers, dtype=np.float32).tobytes())
    return b"".join(parts)


def asked(words: list[str], cores: int, limit_mb: int) -> list[float]:
    """Milliseconds of each question on few cores in little memory; none where it fails."""
    limits = ["taskset", "-c", ",".join(map(str, range(cores))),
              "prlimit", f"--as={limit_mb * 10**6}"]  # fmt: skip
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env["PYTHONPATH"] = str(ROOT / "device" / "python")
    ran = subprocess.run([*limits, *words], capture_output=True, text=True, env=env, check=False)
    walls = [float(word) for word in ran.stdout.split()]
    return walls[2:] if ran.returncode == 0 else []  # the first two warm up


def bench(program: Path, folder: Path, n_items: int, mb: int, rounds: int) -> None:
    """Measure all ways at one size, and append their lines."""
    stream, kept = folder / f"{mb}.elastic", folder / f"{mb}.rule"
    data, _ = make_stream(n_items, mb * 1e6 / n_items)
    stream.write_bytes(data)
    kept.write_bytes(rule_file(n_items, mb))
    for cores in CORES:
        for limit in LIMITS_MB:
            ways = {
                "RULE, C": [str(program), "rule", str(kept), str(rounds), str(cores)],
                "ours, C": [str(program), "ours", str(stream), str(rounds)],
                "ours, Python": [sys.executable, "-c", PYTHON, str(stream), str(rounds)],
            }
            found = {name: asked(words, cores, limit) for name, words in ways.items()}
            rival = median(found["RULE, C"])
            for name, walls in found.items():
                started = len(walls) > 0
                metrics = comparison(median(walls or [0.0]), "ms", rival=rival if walls else None)
                metrics["fastest"] = min(walls, default=None)
                size = (kept if name.startswith("RULE") else stream).stat().st_size
                config = {"items": n_items, "cores": cores, "limit_mb": limit, "top": TOP,
                          "threads": cores if name.startswith("RULE") else 1}  # fmt: skip
                append("latency", {
                    "method": name, "bytes_per_item": round(mb * 1e6 / n_items, 1),
                    "nominal_mb": mb, "file_bytes": size, "config": config,
                    "metrics": {**metrics, "started": started, "load": os.getloadavg()[0]},
                })  # fmt: skip
            shown = {
                name: f"{median(x):.2f}" if x else "did not start" for name, x in found.items()
            }
            print(f"{mb} MB, {cores} cores, {limit} MB: {json.dumps(shown)}", flush=True)


def table() -> str:
    """Milliseconds by way, cores and memory, at every size: the median, and the fastest."""
    cells: dict[tuple[str, int, int], dict[int, str]] = {}
    for line in read("latency"):
        at = line["method"], line["config"]["cores"], line["config"]["limit_mb"]
        found = line["metrics"]
        said = f"{found['value']:.2f} ({found['fastest']:.2f})" if found["started"] else "no start"
        cells.setdefault(at, {})[line["nominal_mb"]] = said
    rows = [
        f"| {name} | {cores} | {limit} MB | {' | '.join(each.get(mb, '–') for mb in MEGABYTES)} |"
        for (name, cores, limit), each in sorted(cells.items())
    ]
    head = ["way", "cores", "memory", *(f"{mb} MB" for mb in MEGABYTES)]
    lines = [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head))]
    return "\n".join([*lines, *rows]) + "\n" if rows else ""


def main() -> int:
    """0 once everything was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=91_599)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    with TemporaryDirectory() as name:
        program = build(Path(name))
        for mb in MEGABYTES:
            bench(program, Path(name), args.items, mb, args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
