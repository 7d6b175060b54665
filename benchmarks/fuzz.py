"""100,000 damaged streams against all runtimes: each refuses them, or all give the same lists.

    python -m benchmarks.fuzz [--mutations 100000] [--seed 0]

Each is a golden stream with something changed, its checksums made right again; most changes are
aimed at fields. Some come in two pieces, some are signed, some have files beside them. Every
runtime, and the slow reader written from the format page, says in one line what it makes of a file
(`tests/device/verdicts.py`), and the lines must be equal. The Python runtime may take no memory
beyond 1 MB plus twice the file. The C runtime and the Java class over it are asked through their
drivers, the JavaScript runtime by a program that reads cases on its standard input; each takes part
where it can run.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import elasticrec_device
from benchmarks.lines import append, comparison
from experiments.provenance import ROOT
from tests.device import c_runtime, java_runtime
from tests.device.mutations import NAMES, case, golden
from tests.device.verdicts import alike, page, verdict

JAVASCRIPT = ROOT / "device" / "js" / "testing" / "verdicts.js"
BATCH = 2_000
"""Cases that a program is asked at once."""
BASE_BYTES = 10**6
"""Memory allowed beside twice the file."""
PATIENCE = 300.0
"""Seconds after which a batch counts as a hang."""


@dataclass
class Tally:
    """Outcomes of the mutations."""

    counts: Counter[str] = field(default_factory=Counter)
    """Mutations `opened` and `refused`."""
    beside: Counter[str] = field(default_factory=Counter)
    """Files beside opened streams that were `taken` and `refused`."""
    wrong: list[str] = field(default_factory=list)
    """Each disagreement or broken promise."""
    most_bytes: int = 0
    """The most memory that a file took beyond twice its length."""
    runtimes: tuple[str, ...] = ()
    """Those that were asked."""


def javascript(cases: list[Any]) -> list[str]:
    """The JavaScript runtime's line for each case."""
    given = b"".join(each.pack() for each in cases)
    words = ["node", str(JAVASCRIPT)]
    ran = subprocess.run(words, input=given, stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    lines = ran.stdout.decode().splitlines()
    if len(lines) != len(cases):
        raise RuntimeError(f"{len(lines)} lines of {JAVASCRIPT}, expected {len(cases)}")
    return lines


@contextmanager
def drivers() -> Iterator[dict[str, Any]]:
    """By name, the runtimes that are asked through a driver, of those that can be built here."""
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        if compiler:
            driver = c_runtime.build([compiler], Path(folder) / "driver")
            found["c"] = c_runtime.Device([driver])
        if java_runtime.can_run():
            found["java"] = java_runtime.device(Path(folder))
        yield found
        for device in found.values():
            device.close()


def run(n_mutations: int, seed: int, trace_every: int = 1) -> Tally:
    """The tally of some mutations.

    Args:
        trace_every: of so many files, the memory of one is measured, which takes most of the time.
    """
    files, node = golden(), shutil.which("node")
    verdict(elasticrec_device, case(files, seed, 0))  # numpy imports some of itself at first use
    with drivers() as devices:
        tally = Tally(runtimes=("python", *(["javascript"] if node else []), *devices))
        for start in range(0, n_mutations, BATCH):
            cases = [case(files, seed, i) for i in range(start, min(start + BATCH, n_mutations))]
            by_node = javascript(cases) if node else []
            for i, each in enumerate(cases):
                lines = {"python": _traced(each, tally, (start + i) % trace_every == 0)}
                if by_node:
                    lines["javascript"] = by_node[i]
                lines |= {name: verdict(device, each) for name, device in devices.items()}
                _count(lines, page(each), tally, f"mutation {start + i} of {seed}")
    return tally


def _traced(each: Any, tally: Tally, traced: bool) -> str:
    """What the Python runtime says; too much memory is a promise broken."""
    if not traced:
        return verdict(elasticrec_device, each)
    tracemalloc.start()
    line = verdict(elasticrec_device, each)
    beyond = tracemalloc.get_traced_memory()[1] - 2 * len(each.pack())
    tracemalloc.stop()
    tally.most_bytes = max(tally.most_bytes, beyond)
    return line if beyond <= BASE_BYTES else f"{beyond:,} bytes beside twice the file"


def _count(lines: dict[str, str], expected: str, tally: Tally, name: str) -> None:
    """Count the slow reader's verdict, and note what is not alike."""
    tally.counts["refused" if expected.startswith("refused") else "opened"] += 1
    for found in expected.split("\t")[3:]:
        if found != "-":
            tally.beside["refused" if found == "refused" else "taken"] += 1
    if not all(alike(line, expected) for line in lines.values()):
        each = "".join(f"\n    {who}: {line[:300]}" for who, line in lines.items())
        tally.wrong.append(f"{name}: expected {expected[:300]}{each}")


def main() -> int:
    """0 when all agree; appends a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    tally = run(given.mutations, given.seed, trace_every=10)
    seconds = time.perf_counter() - start
    metrics = comparison(len(tally.wrong), "disagreements") | dict(tally.counts)
    metrics |= {f"beside_{name}": count for name, count in tally.beside.items()}
    metrics |= {"bytes": tally.most_bytes}
    config = {"mutations": given.mutations, "files": list(NAMES), "runtimes": tally.runtimes}
    fields = {"method": "all runtimes", "seed": given.seed, "seconds": seconds}
    append("fuzz", {**fields, "metrics": metrics, "config": config})
    print(
        f"{given.mutations:,} mutations, {', '.join(tally.runtimes)}: "
        f"{tally.counts['opened']:,} opened, {tally.counts['refused']:,} refused, "
        f"{len(tally.wrong):,} disagreements; at most {tally.most_bytes:,} bytes beside twice the "
        f"file; {seconds:.0f} s"
    )
    for line in tally.wrong[:20]:
        print(line)
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
