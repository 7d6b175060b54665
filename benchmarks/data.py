"""Seconds and peak memory to prepare a split: beside pandas, and of up to 100 million interactions.

    python -m benchmarks.data                                      # a CSV of 3 million, and pandas
    python -m benchmarks.data --scale 1000000 10000000 100000000   # Parquet, and how costs grow

The rival is the same in plain pandas. Each runs in a process of its own, timed from outside, so
that the start of the interpreter and all imports count; peak memory is the kernel's VmHWM. Ids
are text, as shops have them, and the rows run by time through all users. Both must keep the same
users, items and pairs. A log that grows has a hundred interactions for each user and each item.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
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
PER_USER, CLUSTERS = 100, 1_000
LARGEST, LARGEST_SECONDS, LARGEST_BYTES = 100_000_000, 480.0, 25.0
"""Interactions of the largest log, and its limits: seconds, and bytes of memory for each."""


def prepare_ours(path: str) -> dict[str, int]:
    """Users, items and pairs that `elasticrec` keeps, in a split that it writes."""
    from elasticrec.data.preparation import PrepareConfig, prepare
    from elasticrec.data.split import count

    split = prepare(path, PrepareConfig(min_interactions=MIN_INTERACTIONS))
    with tempfile.TemporaryDirectory() as folder:
        split.save(Path(folder) / "split.npz")
    whole = count(split)[0]
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
    command = [sys.executable, "-m", "benchmarks.data", "--only", method, "--log", str(path)]
    start = time.perf_counter()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"seconds": time.perf_counter() - start, **json.loads(out)}


def beside_pandas(n_pairs: int, seed: int) -> bool:
    """True where ours stays below both limits; appends a line for time and one for memory."""
    from benchmarks.synthetic import World

    with tempfile.TemporaryDirectory() as folder:
        World.planted(N_USERS, N_ITEMS, n_pairs, seed).write_log(Path(folder), 1, "csv")
        path = Path(folder) / "part-0000.csv"
        load = os.getloadavg()[0]  # what else was running: it slows both
        ours, pandas = measure("ours", path), measure("pandas", path)
        csv_mb = path.stat().st_size / 1e6
    if ours["counts"] != pandas["counts"]:
        raise AssertionError(f"ours kept {ours['counts']}, pandas {pandas['counts']}")
    config = {"pairs": n_pairs, "csv_mb": round(csv_mb, 1), "kept": ours["counts"]}
    config["rival"] = "pandas"
    for method, key, unit, limit in (
        ("prepare-csv", "seconds", "s", SECONDS_LIMIT),
        ("prepare-csv-memory", "peak_gb", "GB", GB_LIMIT),
    ):
        metrics = comparison(round(ours[key], 3), unit, rival=round(pandas[key], 3))
        fields = {"method": method, "seed": seed, "seconds": round(ours["seconds"], 2)}
        metrics |= {"limit": limit, "load": round(load, 1)}
        append("data", {**fields, "metrics": metrics, "config": config})
        print(f"{method:20} {ours[key]:.2f} {unit} (limit {limit}; pandas {pandas[key]:.2f})")
    return bool(ours["seconds"] < SECONDS_LIMIT and ours["peak_gb"] < GB_LIMIT)


def at_scale(sizes: list[int], seed: int, log: Path | None) -> bool:
    """True where the largest log stays below its limits; appends a line for each and the slope.

    Args:
        log: the folder of the last log, if it is there already.
    """
    from benchmarks.synthetic import World

    good, processor = True, []
    for size in sizes:
        with tempfile.TemporaryDirectory() as made:
            folder = log if log is not None and size == sizes[-1] else Path(made)
            if folder != log:
                n = size // PER_USER
                World.planted(n, n, size, seed, n_clusters=min(CLUSTERS, n // 10)).write_log(folder)
            load = os.getloadavg()[0]
            found = measure("ours", folder)
        processor.append(found["processor"])
        each = 1e9 * found["peak_gb"] / size
        if size >= LARGEST:
            good &= found["seconds"] < LARGEST_SECONDS and each < LARGEST_BYTES
        metrics = comparison(round(found["seconds"], 2), "s") | {
            "processor_seconds": round(found["processor"], 2),
            "peak_gb": round(found["peak_gb"], 3),
            "bytes_per_interaction": round(each, 1),
            "load": round(load, 1),
        }
        fields = {"method": "prepare-parquet", "seed": seed, "seconds": round(found["seconds"], 2)}
        config = {"pairs": size, "kept": found["counts"]}
        append("data", {**fields, "metrics": metrics, "config": config})
        print(f"{size:>12,} {found['seconds']:7.1f} s {found['peak_gb']:6.2f} GB {each:6.1f} bytes")
    if len(sizes) > 1:
        slope = float(np.polyfit(np.log(sizes), np.log(processor), 1)[0])
        metrics = comparison(round(slope, 3), "slope of log processor seconds")
        config = {"pairs": sizes}
        append("data", {"method": "prepare-slope", "metrics": metrics, "config": config})
        print(f"slope {slope:.2f}")
    return good


def main() -> int:
    """0 when the limits are kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3_000_000)
    parser.add_argument("--scale", type=int, nargs="+", help="sizes of logs, rising")
    parser.add_argument("--log", type=Path, help="the last of these logs, if it was written before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PREPARE, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        counts = PREPARE[args.only](str(args.log))
        used = resource.getrusage(resource.RUSAGE_SELF)
        processor = used.ru_utime + used.ru_stime
        print(json.dumps({"counts": counts, "peak_gb": peak_gb(), "processor": processor}))
        return 0
    if args.scale:
        return int(not at_scale(args.scale, args.seed, args.log))
    return int(not beside_pandas(args.pairs, args.seed))


if __name__ == "__main__":
    sys.exit(main())
