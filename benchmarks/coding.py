"""How long coding a catalogue of Amazon-Book's size takes, once per model.

    python -m benchmarks.coding [--dimensions 128,256]

All planes, steps and the gains of a whole menu; the vectors are random with falling energy. The
rival is faiss: training and coding by a product quantiser of one byte per block of 8.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.training.table import BlockTable
from elasticrec.coding.planes import encode
from elasticrec.space.groups import even_sizes
from elasticrec.storing import menu_of

ITEMS, USERS, GROUPS = 91_599, 5_000, 20
LIMIT = 30.0
"""Seconds that 128 dimensions may take on two cores."""


def made_table(dimensions: int, rng: np.random.Generator) -> BlockTable:
    """Random vectors, the first directions of which carry most energy."""
    energy = np.geomspace(1, 0.1, dimensions)
    items, users = (rng.normal(size=(n, dimensions)) * energy for n in (ITEMS, USERS))
    blocks = items.astype(np.float32).reshape(ITEMS, -1, 8)
    return BlockTable(blocks, users.astype(np.float32), "mf")


def by_faiss(table: BlockTable) -> float | None:
    """Seconds of the rival; None where faiss is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    started = time.perf_counter()
    quantiser = faiss.index_factory(table.dimensions, f"PQ{table.n_blocks}")
    quantiser.train(table.items)
    quantiser.add(table.items)
    return time.perf_counter() - started


def main() -> int:
    """0 when 128 dimensions are coded within the limit; appends a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", default="128,256")
    bounds = np.concatenate(([0], np.cumsum(even_sizes(ITEMS, GROUPS))))
    missed = False
    for dimensions in map(int, parser.parse_args().dimensions.split(",")):
        table = made_table(dimensions, np.random.default_rng(0))
        started = time.perf_counter()
        codes = encode(table, bounds, menu_of(table).depths, rng=np.random.default_rng(0))
        taken, rival = time.perf_counter() - started, by_faiss(table)
        config = {
            "items": ITEMS, "dimensions": dimensions, "rows": len(codes.rows), "limit": LIMIT,
            "cores": len(os.sched_getaffinity(0)), "rival": "faiss, a byte per block",
        }  # fmt: skip
        metrics = comparison(taken, "s", rival=rival)
        append("coding", {"method": f"coding-{dimensions}", "metrics": metrics, "config": config})
        told = "no faiss" if rival is None else f"faiss {rival:.1f} s"
        print(f"{dimensions} dimensions, {len(codes.rows)} rows: {taken:.1f} s ({told})")
        missed |= dimensions == 128 and taken > LIMIT
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
