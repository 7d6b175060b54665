"""Seconds and memory of each stage, of training an epoch, against items, users and interactions.

    python -m benchmarks.scale [--items 1000000 --users 1000000 --interactions 10000000]
    python -m benchmarks.scale --slopes
    python -m benchmarks.scale --draw

The world is planted and the table random: costs do not depend on what is in it. Each stage runs in
a process of its own and appends a line when it ends; when `--minutes` are over, what runs is ended
and nothing more begins. `--slopes` measures processor seconds of one thread on small worlds, one
size changing at a time, and `--draw` draws them. `device` asks the C and the Python runtime.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison, read
from elasticrec.compression.config import CompressionConfig
from elasticrec.engine import using
from experiments.provenance import ROOT, cores

USERS_ASKED = 5_000
"""Users of an evaluation."""
BYTES = (3, 6, 11, 20)
"""Bytes per item of the files that runtimes are asked."""
HISTORY, TOP, ROUNDS = 45, 100, 15
AXES = {"items": (1, 0, 0), "users": (0, 1, 1), "interactions": (0, 0, 1), "all": (1, 1, 1)}
"""What grows with an axis: items, users, interactions. More users bring interactions."""
BASE = (40_000, 40_000, 400_000)
STEPS = (0.5, 1.0, 2.0, 4.0)
SIZES = ("items", "users", "interactions")
Facts = dict[str, Any]


def made(folder: Path, args: argparse.Namespace) -> Facts:
    """Make the world and its table."""
    from benchmarks.synthetic import planted_world
    from elasticrec.data.splitting import by_popularity

    rng = np.random.default_rng(0)
    split, _ = by_popularity(planted_world(args.users, args.items, args.interactions, rng))
    split.save(folder / "split.npz")
    items = rng.standard_normal((args.items, args.dimensions), dtype=np.float32)
    items *= np.geomspace(1, 0.1, args.dimensions, dtype=np.float32)  # energy falls
    np.save(folder / "items.npy", items)
    return {}


def trained(folder: Path, args: argparse.Namespace) -> Facts:
    """Train for one epoch, from random vectors."""
    import torch

    from elasticrec.data.split import Split
    from elasticrec.evaluation.ranking import pick_device
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.setup import keep_freed_memory, make_base
    from elasticrec.training.state import TrainingState

    keep_freed_memory()
    split = Split.load(folder / "split.npz")
    config = TrainConfig(n_blocks=args.dimensions // 8, init="random", cooccurrence=0, epochs=1)
    config = config.sized(split.train)
    generator = torch.Generator(pick_device(args.device)).manual_seed(0)
    state = TrainingState(split, config, make_base(split.train, config, generator), generator)

    def epoch() -> None:
        for batch in state.sampler.epoch(0, 0, generator):
            state.step(batch)
        state.mean_loss()  # once all is done

    _, facts = timed(epoch)
    return facts | {"steps": state.progress.steps}


def compressed(folder: Path, args: argparse.Namespace) -> Facts:
    """Code all items."""
    from elasticrec.compression.compress import compress

    codes, facts = timed(lambda: compress(np.load(folder / "items.npy"), settings(args)))
    codes.save(folder / "codes.npz")
    return facts | {"columns": codes.n_columns}


def neighbours(folder: Path, args: argparse.Namespace) -> Facts:
    """List all neighbours."""
    from elasticrec.compression.neighbours import make_neighbours
    from elasticrec.data.split import Split

    train = Split.load(folder / "split.npz").train
    lists, facts = timed(lambda: make_neighbours(train, settings(args)))
    lists.save(folder / "neighbours.npz")
    return facts | {"slots": lists.slots}


def written(folder: Path, _: argparse.Namespace) -> Facts:
    """Write the stream along the default order."""
    from elasticrec.ordering.order import OrderConfig, make_order
    from elasticrec.stream.writer import Facts, stream_parts

    codes, lists = _coded(folder)
    weights = np.full((codes.n_columns + 1, 2), 1e-3, dtype=np.float32)
    facts = Facts(model_id="00" * 32, least_climbs=2, support=lists.min_support)

    def write() -> int:
        order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig())
        with (folder / "stream.elastic").open("wb") as file:
            file.writelines(stream_parts(codes, lists, weights, order, facts=facts))
            return file.tell()

    n_bytes, found = timed(write)
    return found | {"bytes": n_bytes}


def evaluated(folder: Path, args: argparse.Namespace) -> Facts:
    """Evaluate 20 bytes per item on a fixed number of users."""
    from elasticrec.data.split import Split
    from elasticrec.evaluation.measure import measure
    from elasticrec.ordering.order import OrderConfig, cut, make_order

    (codes, lists), split = _coded(folder), Split.load(folder / "split.npz")
    order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig())
    composition = cut(order, codes, 20 * codes.n_items)
    weights = np.full((codes.n_columns + 1, 2), 1e-3, dtype=np.float32)
    able = np.flatnonzero(split.test.per_user)[:USERS_ASKED]
    asked = {"part": "test", "users": able, "device": args.device}
    found, facts = timed(lambda: measure(codes, lists, weights, composition, split, **asked))
    return facts | {"persons": found.n_users}


def ordered(folder: Path, args: argparse.Namespace) -> Facts:
    """Find the order, on 10,000 persons; for slopes, by fewer measurements on 5,000.

    Where time is short, `steps` says how many measurements, or orders at all sizes, were begun.
    """
    from elasticrec.data.split import Split
    from elasticrec.ordering.search import OrderSearchConfig, find_order

    (codes, lists), split = _coded(folder), Split.load(folder / "split.npz")
    said = list[str]()
    config = OrderSearchConfig()
    if args.thrifty:
        few: Facts = {"sizes": (6.0, 20.0), "leads": (0,), "columns_per_slot": (4.0, 8.0)}
        votes: Facts = {"vote_grid": 2, "vote_sizes": (6.0,)}
        config = OrderSearchConfig(n_persons=USERS_ASKED, **few, **votes)

    def report(text: str) -> None:
        if time.time() > args.until:
            raise TimeoutError
        said.append(text)
        print(f"    {text}", file=sys.stderr, flush=True)

    def find() -> bool:
        try:
            find_order(codes, lists, split, config, device=args.device, report=report)
        except TimeoutError:
            return False
        return True

    whole, facts = timed(find)
    return facts | {"persons": config.n_persons, "steps": len(said), "whole": whole}


def _coded(folder: Path) -> tuple[Any, Any]:
    from elasticrec.compression.codes import Codes
    from elasticrec.compression.neighbours import Neighbours

    return Codes.load(folder / "codes.npz"), Neighbours.load(folder / "neighbours.npz")


def device(folder: Path, args: argparse.Namespace) -> Facts:
    """Milliseconds of a question, by bytes per item, to each runtime; all answer the same."""
    from benchmarks.plain.stream import make_stream
    from tests.device import c_runtime

    sys.path.insert(0, str(ROOT / "device" / "python"))
    import elasticrec_device

    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    driver = None if compiler is None else c_runtime.build([compiler], folder / "driver")
    history = np.random.default_rng(1).choice(args.items, HISTORY, replace=False).tolist()
    found: Facts = {}
    for size in BYTES:
        data, _ = make_stream(args.items, size)
        stream, walls = elasticrec_device.open(data), []
        answer = stream.recommend(history, k=TOP)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            stream.recommend(history, k=TOP)
            walls.append((time.perf_counter() - start) * 1e3)
        found[f"python at {size} bytes per item"] = median(walls)
        if driver is not None:
            runtime = c_runtime.Device([str(driver)])
            same = runtime.open(data).recommend(history, k=TOP)
            if [(x.id, x.score) for x in same] != [(x.id, x.score) for x in answer]:
                raise RuntimeError("C answers otherwise than Python")
            ids = ",".join(map(str, history))
            walls = [float(runtime.ask(f"speed 3 {TOP} {ids}")[-1]) for _ in range(ROUNDS)]
            found[f"c at {size} bytes per item"] = median(walls)
            runtime.close()
        print(f"    {size} bytes per item: {len(data) / 1e6:.1f} MB", file=sys.stderr, flush=True)
    return {"seconds": 0.0, "cpu": 0.0, "milliseconds": found}


STAGES: dict[str, Callable[[Path, argparse.Namespace], Facts]] = {
    "make": made, "epoch": trained, "compress": compressed, "neighbours": neighbours,
    "write": written, "evaluate": evaluated, "device": device, "order": ordered,
}  # fmt: skip


def settings(args: argparse.Namespace) -> CompressionConfig:
    """Settings of codes and neighbours; those of slopes are smaller."""
    return CompressionConfig(stages=2, kmeans_rounds=4) if args.thrifty else CompressionConfig()


def timed(work: Callable[[], Any]) -> tuple[Any, Facts]:
    """What a piece of work gives, and its seconds: of the clock, and of this processor."""
    started, cpu = time.perf_counter(), time.process_time()
    found = work()
    seconds = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
    return found, seconds


def alone(args: argparse.Namespace) -> None:
    """One stage in this process; prints its facts as JSON."""
    with using(args.engine, address=args.ray_address):
        facts = STAGES[args.stage](args.folder, args)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(facts | {"peak": peak}))


def run(args: argparse.Namespace, axis: str | None = None) -> None:
    """Every stage of one size, each appending its line, until the time is over."""
    limit = time.monotonic() + 60 * args.minutes
    wanted = args.stages.split(",")
    with TemporaryDirectory(dir=args.folder) as place:
        for stage in STAGES:
            left = limit - time.monotonic()
            if (stage != "make" and stage not in wanted) or left <= 0:
                continue
            if stage == "make" and wanted == ["device"]:
                continue
            words = [sys.executable, "-m", "benchmarks.scale", "--stage", stage, "--folder", place]
            for name in ("items", "users", "interactions", "dimensions", "engine", "device"):
                words += [f"--{name}", str(getattr(args, name))]
            words += ["--ray-address", args.ray_address] if args.ray_address else []
            words += ["--until", str(time.time() + left - 20)]
            words += ["--thrifty"] if args.thrifty else []
            try:
                ran = subprocess.run(
                    words, check=False, stdout=subprocess.PIPE, timeout=left, cwd=ROOT
                )
            except subprocess.TimeoutExpired:
                print(f"{stage}: ended before it was done, {args.minutes:g} minutes were over")
                return
            if ran.returncode:
                print(f"{stage}: failed with {ran.returncode}")
                continue
            if stage != "make":
                told(args, stage, json.loads(ran.stdout.splitlines()[-1]), axis)


def told(args: argparse.Namespace, stage: str, facts: Facts, axis: str | None) -> None:
    """Append the lines of one stage, and print them."""
    config = {name: getattr(args, name) for name in (*SIZES, "dimensions", "engine")}
    config |= {"cores": cores(), "axis": axis, "thrifty": args.thrifty}
    for name, value in facts.pop("milliseconds", {}).items():
        append("scale", {"method": name, "metrics": comparison(value, "ms"), "config": config})
        print(f"{args.items:,} items, {name}: {value:.2f} ms", flush=True)
    if not facts["seconds"]:
        return
    seconds = facts["cpu" if args.thrifty else "seconds"]
    metrics = comparison(seconds, "s") | facts
    append("scale", {"method": stage, "metrics": metrics, "config": config})
    counts = ", ".join(f"{getattr(args, name):,} {name}" for name in SIZES)
    print(f"{stage}: {seconds:.1f} s, {facts['peak'] / 1e9:.2f} GB ({counts})", flush=True)


def slopes() -> dict[str, dict[str, tuple[list[float], list[float], float]]]:
    """By axis and stage: factors, seconds, and the slope of the logarithms."""
    found: dict[str, dict[str, dict[float, float]]] = {}
    for line in read("scale"):
        config = line["config"]
        if config.get("thrifty") and (axis := config["axis"]) in AXES:
            grown = next(n for n, grows in enumerate(AXES[axis]) if grows)
            factor = config[SIZES[grown]] / BASE[grown]
            stages = found.setdefault(axis, {})
            stages.setdefault(line["method"], {})[factor] = line["metrics"]["value"]
    out: dict[str, dict[str, tuple[list[float], list[float], float]]] = {}
    for axis, stages in found.items():
        for stage, points in stages.items():
            x = sorted(points)
            y = [points[each] for each in x]
            slope = float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 else float("nan")
            out.setdefault(axis, {})[stage] = x, y, slope
    return out


def draw() -> None:
    """Print the slopes, and draw seconds against each size, both as logarithms."""
    from experiments import figures

    found = slopes()
    about = "; ".join(
        f"{axis}: " + ", ".join(f"{stage} {slope:.2f}" for stage, (_, _, slope) in stages.items())
        for axis, stages in found.items()
    )
    print(about.replace("; ", "\n"))
    with figures.panels("scale", columns=len(found), about=about, width=3.3) as axes:
        for panel, (axis, stages) in zip(axes[0], found.items(), strict=True):
            colours = (figures.OURS, figures.SECOND, *figures.OTHERS)
            for (stage, (x, y, slope)), colour in zip(stages.items(), colours, strict=False):
                panel.plot(x, y, "o-", color=colour, label=f"{stage} {slope:.2f}", markersize=3)
            panel.set_xscale("log")
            panel.set_yscale("log")
            times = sorted({factor for x, _, _ in stages.values() for factor in x})
            panel.set_xticks(times, [f"{factor:g}" for factor in times])
            panel.minorticks_off()
            panel.yaxis.set_major_formatter("{x:g}")
            # Room for the names below all lines.
            panel.set_ylim(bottom=min(min(y) for _, y, _ in stages.values()) / 40)
            panel.set_title(axis, loc="left", fontweight="bold")
            panel.set_xlabel("times the base")
            panel.set_ylabel("seconds")
            panel.legend(fontsize=6, loc="lower left", ncols=2, frameon=False)


def main() -> None:
    """Measure one size, or the slopes; or draw them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--interactions", type=int, default=10_000_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--stages", help="Some of them, with commas; by default all.")
    parser.add_argument("--engine", default="serial")
    parser.add_argument("--ray-address")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, help="Where intermediate files go, and are removed.")
    parser.add_argument("--slopes", action="store_true")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--thrifty", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=float("inf"), help=argparse.SUPPRESS)
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    args = parser.parse_args()
    left_out = ("make", "device") if args.slopes else ("make",)
    args.stages = args.stages or ",".join(name for name in STAGES if name not in left_out)
    if args.stage:
        alone(args)
    elif args.draw:
        draw()
    elif args.slopes:
        args.thrifty, args.device, args.dimensions = True, "cpu", 32
        for axis, grows in AXES.items():
            for step in STEPS:
                sizes = [round(n * (step if g else 1)) for n, g in zip(BASE, grows, strict=True)]
                args.items, args.users, args.interactions = sizes
                run(args, axis)
    else:
        run(args)


if __name__ == "__main__":
    main()
