"""Seconds of finding the order of a model of Gowalla's size, by measurements on 5,000 users.

    python -m benchmarks.ordering [--device auto]

Users and items are made up; their vectors are random. No rival: nothing else orders a stream.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.lines import append, comparison
from benchmarks.synthetic import planted_world
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.ranking import pick_device
from elasticrec.ordering.search import OrderSearchConfig, find_order
from experiments.provenance import cores

USERS, ITEMS, PAIRS, DIMENSIONS = 29_858, 40_981, 1_027_370, 128
LIMIT = 240.0
"""Seconds that it may take on two cores."""


def main() -> int:
    """0 when the order was found within the limit; appends a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    device = pick_device(parser.parse_args().device)
    rng = np.random.default_rng(0)
    split, _ = by_popularity(planted_world(USERS, ITEMS, PAIRS, rng))
    items = rng.standard_normal((ITEMS, DIMENSIONS), dtype=np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    codes = compress(items, CompressionConfig())
    neighbours = make_neighbours(split.train, CompressionConfig())
    search = OrderSearchConfig()
    started = time.perf_counter()
    find_order(codes, neighbours, split, search, device=device)
    taken = time.perf_counter() - started
    config = {"users": USERS, "items": ITEMS, "persons": search.n_persons, "cores": cores()}
    metrics = comparison(taken, "s") | {"limit": LIMIT}
    append("ordering", {"method": f"order-{device}", "metrics": metrics, "config": config})
    print(f"{taken:.0f} s on {device} (limit {LIMIT:.0f} s)")
    return int(taken > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
