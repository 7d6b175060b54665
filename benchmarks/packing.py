"""How long packing a bundle of 5 MB takes, for a catalogue of Amazon-Book's size.

    python -m benchmarks.packing [--runs 30]

Codes and neighbours are random: packing copies them, whatever they are. The first file of a model
also packs the neighbours' columns, which later files copy; it is measured apart. The rival is
`np.savez` (no compression) of the same columns into memory, without any layout or alignment.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.bundle.material import Material
from elasticrec.bundle.writer import pack
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import Neighbours
from elasticrec.space.composition import Composition, Menu
from elasticrec.space.groups import even_sizes

ITEMS, BLOCKS, GROUPS = 91_599, 16, 20
LIMIT = 0.05
"""Seconds that a file may take."""


def random_material(rng: np.random.Generator) -> Material:
    """Material of Amazon-Book's size whose menu has two rows, shallow and deep."""
    D = 8 * BLOCKS
    depths = np.array([[1] * BLOCKS, [2] * BLOCKS])
    menu = Menu(depths, np.array([4, 8]))
    bounds = np.concatenate(([0], np.cumsum(even_sizes(ITEMS, GROUPS))))
    codes = Codes(
        planes=rng.integers(0, 256, (BLOCKS, 8, ITEMS), dtype=np.uint8),
        means=np.zeros((GROUPS, D), np.float16),
        person=np.zeros(D, np.float16),
        scales=np.tile(np.array([1 / 64, 1 / 64, 1], np.float32), (BLOCKS, 1)),
        steps=np.ones(36, np.float32),
        words=rng.integers(-128, 128, (BLOCKS, 32, 8 * BLOCKS), dtype=np.int8),
        letters=rng.integers(-128, 128, (256, 8), dtype=np.int8),
        rotation=np.eye(D, dtype=np.float32),
        bounds=bounds,
        rows=menu.depths,
        gains=rng.integers(0, 256, (2, ITEMS), dtype=np.uint8),
        gain_values=np.ones(256, np.float32),
    )
    numbers = rng.integers(0, ITEMS, (ITEMS, 16), dtype=np.uint32)
    weights = -np.sort(-rng.integers(1, 16, (ITEMS, 16)), axis=1)
    values = np.arange(16, dtype=np.float32)
    lists = Neighbours(numbers, weights.astype(np.uint8), values)
    return Material(codes, lists, Mixing(np.ones((2, 2)), False), menu, "0" * 64)


def saved(material: Material, composition: Composition) -> int:
    """Bytes of an archive of the same columns: the rival."""
    columns = {}
    bounds = material.codes.bounds
    for g, depths in enumerate(composition.depths):
        for n, depth in enumerate(depths):
            kept = material.codes.planes[n, :depth, bounds[g] : bounds[g + 1]]
            columns[f"{g}.{n}"] = kept
        K = int(composition.neighbours[g])
        columns[f"{g}.numbers"] = material.neighbours.numbers[bounds[g] : bounds[g + 1], :K]
        columns[f"{g}.weights"] = material.neighbours.weights[bounds[g] : bounds[g + 1], :K]
    file = io.BytesIO()
    np.savez(file, **columns)  # type: ignore[arg-type]
    return file.tell()


def seconds(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> int:
    """0 when the median is below its limit; appends a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    runs = parser.parse_args().runs
    material = random_material(np.random.default_rng(0))
    composition = material.menu.compose(np.full(GROUPS, 1))
    first = seconds(lambda: pack(material, composition, about={}))
    file_bytes = len(pack(material, composition, about={}))
    taken: dict[str, list[float]] = {"packing": [], "rival": []}
    for _ in range(runs):
        taken["packing"].append(seconds(lambda: pack(material, composition, about={})))
        taken["rival"].append(seconds(lambda: saved(material, composition)))
    rival = median(taken["rival"])
    config = {"items": ITEMS, "blocks": BLOCKS, "groups": GROUPS, "runs": runs}
    config |= {"file_bytes": file_bytes, "rival": "np.savez of the same columns, in memory"}
    value, best = median(taken["packing"]), min(taken["packing"])
    for method, measured in (("packing", value), ("first packing", first)):
        metrics = comparison(measured, "s", rival=rival) | {"limit": LIMIT}
        if method == "packing":
            metrics["best"] = best
        append("packing", {"method": method, "metrics": metrics, "config": config})
    print(
        f"{file_bytes:,} bytes: median {value * 1e3:.1f} ms, best {best * 1e3:.1f} ms "
        f"(limit {LIMIT * 1e3:.0f} ms; rival {rival * 1e3:.1f} ms); first {first * 1e3:.1f} ms"
    )
    return int(value >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
