"""Milliseconds of customizing at Amazon-Book's size, against copying the same bytes.

    python -m benchmarks.stream [--rounds 15]

A stream of 91,599 random items is written once; then the files of 1, 5 and 20 MB are cut from it.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.compression.codebooks import Column
from elasticrec.compression.codes import Codes, assemble
from elasticrec.compression.neighbours import Neighbours
from elasticrec.files import save_bytes
from elasticrec.ordering.order import OrderConfig, make_order
from elasticrec.stream.chunk import copy_prefix
from elasticrec.stream.writer import Facts, stream_parts

ITEMS, BLOCKS, RESIDUAL, STAGES, SLOTS = 91_599, 16, 16, 6, 64
SIZES = (1_000_000, 5_000_000, 20_000_000)


def made_codes(rng: np.random.Generator) -> Codes:
    """Codes of random bytes, shaped as those of a real catalogue."""
    columns = []
    for _ in range(RESIDUAL):
        words = rng.integers(-127, 128, size=(32, 8 * BLOCKS)).astype(np.int8)
        columns.append(Column(words, 0, 1.0, rng.integers(256, size=ITEMS).astype(np.uint8)))
    for stage in range(STAGES):
        words = rng.integers(-127, 128, size=(32, 8)).astype(np.int8)
        for n in range(BLOCKS):
            data = rng.integers(256, size=ITEMS).astype(np.uint8)
            columns.append(Column(words, n, 0.5**stage, data))
    return assemble(columns, n_blocks=BLOCKS, rotation=np.eye(8 * BLOCKS), empty=np.ones(128))


def made_lists(rng: np.random.Generator) -> Neighbours:
    """Random neighbours of every item."""
    numbers = rng.integers(ITEMS, size=(ITEMS, SLOTS)).astype(np.uint32)
    votes = np.sort(rng.integers(1, 16, size=(ITEMS, SLOTS)).astype(np.uint8), axis=1)[:, ::-1]
    return Neighbours(numbers, votes, np.arange(16).astype(np.uint16) * 600, 3)


def milliseconds(run: Callable[[], object], rounds: int) -> float:
    """Median milliseconds of a call."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        found.append(1000 * (time.perf_counter() - began))
    return median(found)


def main() -> None:
    """Measure and append one line per size, and one for the writer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    codes, lists = made_codes(rng), made_lists(rng)
    order = make_order(ITEMS, codes.n_columns, SLOTS, OrderConfig(lead=4))
    weights = np.full((codes.n_columns + 1, 2), 1e-4, dtype=np.float32)
    facts = Facts(model_id="0" * 64, least_climbs=order.least)
    config = {"items": ITEMS, "columns": codes.n_columns, "slots": SLOTS}
    with TemporaryDirectory() as folder:
        whole, out = Path(folder) / "stream.elastic", Path(folder) / "out.elastic"

        def write() -> None:
            parts = stream_parts(codes, lists, weights, order, facts=facts)
            save_bytes(whole, b"".join(parts))

        taken = milliseconds(write, 3)
        copied = milliseconds(lambda: shutil.copyfile(whole, out), args.rounds)
        metrics = comparison(taken, "ms", rival=copied)
        append("stream", {"method": "write", "metrics": metrics, "config": config})
        print(f"write {whole.stat().st_size:,} bytes: {taken:.0f} ms, a copy {copied:.0f} ms")
        prefix = Path(folder) / "prefix.elastic"
        for size in SIZES:
            cut = milliseconds(partial(copy_prefix, whole, size, out), args.rounds)
            shutil.copyfile(out, prefix)
            rival = milliseconds(lambda: shutil.copyfile(prefix, out), args.rounds)
            metrics = comparison(cut, "ms", rival=rival)
            named = {"method": f"customize-{size // 10**6}MB", "metrics": metrics}
            append("stream", {**named, "config": config})
            print(f"customize {size:,} bytes: {cut:.1f} ms, a copy {rival:.1f} ms")


if __name__ == "__main__":
    main()
