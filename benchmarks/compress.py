"""Seconds of compressing a table of Amazon-Book's size: codes, once per model.

    python -m benchmarks.compress [--dimensions 128,256]

The vectors are random with falling energy. The rival is faiss: training and coding by a product
quantiser of one byte per block of 8.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from experiments.provenance import cores

ITEMS = 91_599


def made_items(dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """(V, D) unit vectors, the first directions of which carry most energy."""
    items = rng.normal(size=(ITEMS, dimensions)) * np.geomspace(1, 0.1, dimensions)
    return np.asarray(items / np.linalg.norm(items, axis=1, keepdims=True), dtype=np.float32)


def by_faiss(items: np.ndarray) -> float | None:
    """Seconds of the rival; None where faiss is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    started = time.perf_counter()
    quantiser = faiss.index_factory(items.shape[1], f"PQ{items.shape[1] // 8}")
    quantiser.train(items)
    quantiser.add(items)
    return time.perf_counter() - started


def main() -> None:
    """Measure each number of dimensions and append a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dimensions", default="128,256")
    for dimensions in map(int, parser.parse_args().dimensions.split(",")):
        items = made_items(dimensions, np.random.default_rng(0))
        started = time.perf_counter()
        codes = compress(items, CompressionConfig())
        taken, rival = time.perf_counter() - started, by_faiss(items)
        config = {
            "items": ITEMS, "dimensions": dimensions, "columns": codes.n_columns, "cores": cores(),
            "rival": "faiss, a byte per block",
        }  # fmt: skip
        metrics = comparison(taken, "s", rival=rival)
        append("compress", {"method": f"codes-{dimensions}", "metrics": metrics, "config": config})
        beside = "no faiss" if rival is None else f"faiss {rival:.1f} s"
        print(f"{dimensions} dimensions, {codes.n_columns} columns: {taken:.1f} s ({beside})")


if __name__ == "__main__":
    main()
