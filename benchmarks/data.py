"""Seconds and peak memory to read, filter and split a CSV of 3 million interactions.

    python -m benchmarks.data [--pairs 3000000] [--seed 0]

The rival is the same in plain pandas. Each runs in a process of its own, timed from outside, so
that the start of the interpreter and all imports count; peak memory is the kernel's VmHWM. Ids
are text, as shops have them, and the rows are in random order. Both must keep the same users,
items and pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison

N_USERS, N_ITEMS = 100_000, 60_000
MIN_INTERACTIONS = 10
SECONDS_LIMIT, GB_LIMIT = 20.0, 1.5


def write_csv(path: Path, n_pairs: int, seed: int) -> None:
    """Write a planted world as a CSV with text ids, ratings and times, in random order."""
    import polars as pl

    from benchmarks.synthetic import planted_world

    rng = np.random.default_rng(seed)
    split = planted_world(N_USERS, N_ITEMS, n_pairs, rng)
    pairs = split.train.union(split.validation).union(split.test)
    order = rng.permutation(n_pairs)
    numbers = pl.DataFrame({"user": pairs.users[order], "item": pairs.items[order]})
    numbers.select(
        pl.format("customer-{}", "user").alias("user_id"),
        pl.format("article/{}", "item").alias("item_id"),
        (pl.col("item") % 5 + 1).alias("rating"),
        (pl.int_range(pl.len()) + 1_600_000_000).alias("timestamp"),
    ).write_csv(path)


def prepare_ours(path: str) -> dict[str, int]:
    """Users, items and pairs that `elasticrec` keeps."""
    from elasticrec.data.preparation import PrepareConfig, prepare
    from elasticrec.data.split import count

    whole = count(prepare(path, PrepareConfig(min_interactions=MIN_INTERACTIONS)))[0]
    return {"users": whole.users, "items": whole.items, "pairs": whole.interactions}


def prepare_pandas(path: str) -> dict[str, int]:
    """Users, items and pairs that plain pandas keeps: read, merge, filter, number, split."""
    import pandas as pd

    columns = ["user_id", "item_id"]
    frame = pd.read_csv(path, usecols=columns).drop_duplicates()
    while True:
        sizes = [frame.groupby(column)[column].transform("size") for column in columns]
        enough = (sizes[0] >= MIN_INTERACTIONS) & (sizes[1] >= MIN_INTERACTIONS)
        if enough.all():
            break
        frame = frame[enough]
    frame = frame.assign(
        user=frame["user_id"].factorize(sort=True)[0],
        item=frame["item_id"].factorize(sort=True)[0],
        order=np.random.default_rng(0).random(len(frame)),
    )
    share = frame.groupby("user")["order"].rank(pct=True)
    parts = [frame[share <= 0.7], frame[(share > 0.7) & (share <= 0.8)], frame[share > 0.8]]
    pairs = sum(len(part) for part in parts)
    return {"users": frame["user"].nunique(), "items": frame["item"].nunique(), "pairs": pairs}


PREPARE = {"ours": prepare_ours, "pandas": prepare_pandas}


def peak_gb() -> float:
    """The most memory this process has held, in 10^9 bytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024 / 1e9


def measure(method: str, path: Path) -> dict[str, Any]:
    """Seconds, peak memory and counts of one method, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.data", "--only", method, "--csv", str(path)]
    start = time.perf_counter()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"seconds": time.perf_counter() - start, **json.loads(out)}


def main() -> int:
    """0 when ours stays below both limits; appends a line for time and one for memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PREPARE, help=argparse.SUPPRESS)
    parser.add_argument("--csv", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        counts = PREPARE[args.only](args.csv)
        print(json.dumps({"counts": counts, "peak_gb": peak_gb()}))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "interactions.csv"
        write_csv(path, args.pairs, args.seed)
        load = os.getloadavg()[0]  # what else was running: it slows both
        ours, pandas = measure("ours", path), measure("pandas", path)
        csv_mb = path.stat().st_size / 1e6
    if ours["counts"] != pandas["counts"]:
        raise AssertionError(f"ours kept {ours['counts']}, pandas {pandas['counts']}")
    config = {"pairs": args.pairs, "csv_mb": round(csv_mb, 1), "kept": ours["counts"]}
    config["rival"] = "pandas"
    for method, key, unit, limit in (
        ("prepare-csv", "seconds", "s", SECONDS_LIMIT),
        ("prepare-csv-memory", "peak_gb", "GB", GB_LIMIT),
    ):
        metrics = comparison(round(ours[key], 3), unit, rival=round(pandas[key], 3))
        fields = {"method": method, "seed": args.seed, "seconds": round(ours["seconds"], 2)}
        metrics |= {"limit": limit, "load": round(load, 1)}
        append("data", {**fields, "metrics": metrics, "config": config})
        print(f"{method:20} {ours[key]:.2f} {unit} (limit {limit}; pandas {pandas[key]:.2f})")
    return int(ours["seconds"] >= SECONDS_LIMIT or ours["peak_gb"] >= GB_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
