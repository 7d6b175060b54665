"""100,000 damaged streams against the Python runtime: opened correctly, or refused.

    python -m benchmarks.fuzz [--mutations 100000] [--seed 0]

Each is a golden stream with something changed, its checksums made right again; half of the changes
are aimed at fields. The runtime must open it and answer, or raise `StreamError`: no other error, no
hang, no memory beyond 1 MB plus twice the file. The slow reader written from the format page judges
the same file, and both must agree on whether it is sound; where it is, on one answer in ten.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison
from experiments.provenance import ROOT
from tests.device.mutations import mutated
from tests.stream.reference import Reference
from tests.stream.reference_file import RefusedError

SEEDS = ("dense", "neighbours", "small", "text", "u32", "u64", "single", "signed", "ties")
"""Golden streams that are damaged."""
BASE_BYTES = 10**6
"""Memory allowed beside twice the file."""
COMPARE_EVERY = 10
"""Of so many files, one is also asked what the slow reader answers."""
PATIENCE = 10.0
"""Seconds after which a file counts as a hang."""


@dataclass
class Tally:
    """Outcomes of the mutations."""

    counts: Counter[str] = field(default_factory=Counter)
    """Mutations `opened`, `refused`, and `wrong` for each broken promise."""
    wrong: list[str] = field(default_factory=list)
    """Each broken promise and its mutation."""
    most_bytes: int = 0
    """The most memory that a file took beyond twice its length."""
    most_seconds: float = 0.0
    """The longest time that a file took."""


def runtime() -> ModuleType:
    """The device runtime, loaded from its file unless it is there already."""
    if "elasticrec_device" in sys.modules:
        return sys.modules["elasticrec_device"]
    path = ROOT / "device" / "python" / "elasticrec_device.py"
    spec = importlib.util.spec_from_file_location("elasticrec_device", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def answers(device: ModuleType, file: bytes) -> list[Any]:
    """The runtime's lists for an empty history, and for one with known and unknown ids."""
    with device.open(file) as stream:
        info = stream.info()
        first: Any = stream.recommend(k=5)
        known = [item.id for item in first][:2]
        unknown: list[Any] = ["nobody"] if info["ids"] == "text" else [2**40]
        second = stream.recommend(history=[*known, *unknown], k=5, why=True)
        if known:
            stream.similar(known[0], k=5)
        return [first, second]


def judged(device: ModuleType, file: bytes, traced: bool) -> tuple[str, list[Any], int, float]:
    """`opened`, `refused` or the error; the answers; peak bytes if traced; seconds."""
    found: list[Any] = []
    if traced:
        tracemalloc.start()
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        found = answers(device, file)
        verdict = "opened"
    except device.StreamError:
        verdict = "refused"
    except Exception as error:
        verdict = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return verdict, found, peak, seconds


def promised(file: bytes, given: list[Any], compare: bool) -> tuple[str, bool]:
    """The slow reader's verdict, and whether the answers given agree with its own."""
    try:
        reader = Reference(file)
    except RefusedError:
        return "refused", True
    if not compare or not given:
        return "opened", True
    first = reader.recommend(k=5)
    unknown = "nobody" if reader.file.id_kind == 3 else str(2**40)
    second = reader.recommend([*first[0][:2], unknown], k=5)
    for mine, (items, scores, _, _) in zip(given, (first, second), strict=True):
        if [str(each.id) for each in mine] != items or [each.score for each in mine] != scores:
            return "opened", False
    return "opened", True


def run(n_mutations: int, seed: int, trace_every: int = 1) -> Tally:
    """The tally of some mutations; mutation i depends on (seed, i) alone.

    Args:
        trace_every: of so many files, the memory of one is measured, which takes most of the time.
    """
    device = runtime()
    signal.signal(signal.SIGALRM, _too_long)
    tally, files = Tally(), dict(seeds())
    for file in files.values():
        answers(device, file)  # numpy imports some of itself at first use
    for number in range(n_mutations):
        rng = np.random.default_rng([seed, number])
        name = SEEDS[int(rng.integers(len(SEEDS)))]
        file = bytes(mutated(files[name], rng))
        verdict, found, peak, seconds = judged(device, file, number % trace_every == 0)
        sound, same = promised(file, found, number % COMPARE_EVERY == 0)
        tally.counts[verdict if verdict in ("opened", "refused") else "wrong"] += 1
        tally.most_bytes = max(tally.most_bytes, peak - 2 * len(file))
        tally.most_seconds = max(tally.most_seconds, seconds)
        for bad, words in (
            (verdict != sound, f"{verdict}, expected it {sound}"),
            (not same, "other answers than the slow reader's"),
            (peak > BASE_BYTES + 2 * len(file), f"{peak:,} bytes for {len(file):,}"),
        ):
            if bad:
                tally.wrong.append(f"mutation {number} of {name}: {words}")
    return tally


def seeds() -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the golden streams."""
    for name in SEEDS:
        yield name, (ROOT / "device" / "conformance" / f"{name}.elastic").read_bytes()


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no answer after {PATIENCE} s")


def main() -> int:
    """0 when no promise was broken; appends a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    tally = run(given.mutations, given.seed)
    seconds = time.perf_counter() - start
    counts = {name: tally.counts[name] for name in ("opened", "refused")}
    metrics = comparison(len(tally.wrong), "broken promises")
    metrics |= counts | {"bytes": tally.most_bytes, "slowest": tally.most_seconds}
    config = {"mutations": given.mutations, "files": list(SEEDS)}
    fields = {"method": "python", "seed": given.seed, "seconds": seconds}
    append("fuzz", {**fields, "metrics": metrics, "config": config})
    print(
        f"{given.mutations:,} mutations: {counts['opened']:,} opened, {counts['refused']:,} "
        f"refused, {len(tally.wrong):,} broken promises; at most {tally.most_bytes:,} bytes "
        f"beside twice the file, {tally.most_seconds:.3f} s; {seconds:.0f} s"
    )
    for line in tally.wrong[:20]:
        print(line)
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
