"""Training examples per second: beside a plain reference, and by the number of items.

    python -m benchmarks.training                        # all of it
    python -m benchmarks.training --method mf,lightgcn --dimensions 64,128
    python -m benchmarks.training --data gowalla.npz     # a prepared split instead of a made one
    python -m benchmarks.training --method history --items 100000,1000000 --device cuda

`mf` and `lightgcn`: BPR with one unseen item per pair, batches of 8,192, at Gowalla's size, CPU.
The reference is a textbook's: uniform triples drawn in NumPy, `nn.Embedding` with dense gradients,
a COO `torch.sparse` product with autograd's own backward, `torch.optim.Adam` over whole tables. Its
sampler works on whole arrays (the rival) or on one example after the other (`rival_loop`).

`history`: the default recipe at several numbers of items, ten interactions for each. A step costs
what it touches, so the largest catalogue (the value) should reach at least two thirds of the
examples per second of the smallest (the rival).

Contenders take turns, a few batches each and with every number of threads, so that other work on
the machine hits all alike; each counts with the number of threads that suits it best.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.lines import append, comparison
from benchmarks.plain.bpr import BATCH, L2, LAYERS, RATE, Loop, Reference, Vectorised
from benchmarks.synthetic import planted_world
from elasticrec.data.cooccurrence import Cooccurrence
from elasticrec.data.split import Split
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import keep_freed_memory, make_base
from elasticrec.training.state import TrainingState

N_USERS, N_ITEMS, N_PAIRS = 29_858, 40_981, 1_157_000
"""Gowalla's size: 70 % of the pairs, 810,000, are in train."""
PAIRS_PER_ITEM, PAIRS_PER_USER = 10, 20
"""Of the worlds of several sizes, before the split."""
TURN = 4
"""Batches before the next contender's turn."""

Work = Callable[[], None]
"""Draws one batch and makes one step on it."""


@dataclass
class Clock:
    """Times of every batch of one contender."""

    batch: int
    """Examples per batch."""
    walls: list[float] = field(default_factory=list)
    """Seconds by the clock."""
    cpus: list[float] = field(default_factory=list)
    """Seconds of all cores' work."""

    def time(self, work: Work, device: str) -> None:
        """Do the work and note how long it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        self.walls.append(time.perf_counter() - wall)
        self.cpus.append(time.process_time() - cpu)

    def rate(self) -> float:
        """Examples per second by the clock, from the median batch."""
        return self.batch / float(np.median(self.walls))

    def cpu_rate(self) -> float:
        """Examples per second of CPU time, from the median batch."""
        return self.batch / float(np.median(self.cpus))


Clocks = dict[tuple[str, int], Clock]
"""By contender and number of threads."""


def ours(split: Split, config: TrainConfig, device: str, near: Cooccurrence | None = None) -> Work:
    """A step of our training."""
    generator = torch.Generator(device).manual_seed(config.seed)
    base = make_base(split.train, config, generator)
    state = TrainingState(split, config, base, generator, near)

    def batches() -> Iterator[None]:
        for epoch in itertools.count():
            for batch in state.sampler.epoch(config.seed, epoch, generator):
                state.step(batch)
                yield

    stream = batches()
    return lambda: next(stream)


def reference(
    split: Split, method: str, dimensions: int, sampler: type[Loop | Vectorised], seed: int
) -> Work:
    """A step of the reference."""
    rng = np.random.default_rng(seed)
    layers = LAYERS * (method == "lightgcn")
    return Reference(split.train, dimensions, sampler(split.train, rng), layers=layers).step


def measure(
    steps: dict[str, Work], batch: int, threads: list[int], seconds: float, device: str = "cpu"
) -> Clocks:
    """Clocks of all contenders after taking turns for a while."""
    clocks = {each: Clock(batch) for each in itertools.product(steps, threads)}
    for step in steps.values():
        step()  # warm up: shuffle, allocate
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for (name, n_threads), clock in clocks.items():
            torch.set_num_threads(n_threads)
            for _ in range(TURN):
                clock.time(steps[name], device)
    return clocks


def beside_reference(split: Split, method: str, dimensions: int, args: argparse.Namespace) -> None:
    """Measure ours and both references, and append one line."""
    config = TrainConfig(
        base=method,  # type: ignore[arg-type]
        n_blocks=dimensions // 8, loss="bpr", negatives=1, batch_size=BATCH, epochs=1,
        learning_rate=RATE, schedule="constant", l2=L2, layers=LAYERS, readout="mean",
        cooccurrence=0.0, init="random", init_scale=0.1 * dimensions**0.5, seed=args.seed,
    )  # fmt: skip
    steps = {
        "ours": ours(split, config, "cpu"),
        "vectorised": reference(split, method, dimensions, Vectorised, args.seed),
        "loop": reference(split, method, dimensions, Loop, args.seed),
    }
    clocks = measure(steps, BATCH, args.threads, args.seconds)
    rates, cpu = best(clocks, Clock.rate), best(clocks, Clock.cpu_rate)
    metrics = comparison(rates["ours"], "examples/s", rival=rates["vectorised"], better="higher")
    metrics |= {
        "rival_loop": rates["loop"],
        "ratio_loop": rates["ours"] / rates["loop"],
        "cpu_ratio": cpu["ours"] / cpu["vectorised"],
        "cpu_ratio_loop": cpu["ours"] / cpu["loop"],
    }
    facts: dict[str, object] = {
        "layers": LAYERS * (method == "lightgcn"),
        "data": split.name,
        "items": split.n_items,
    }
    write(method, dimensions, metrics, clocks, args, len(split.train), facts)


def by_items(device: str, args: argparse.Namespace) -> None:
    """Measure the default recipe at every number of items, and append one line."""
    sizes = sorted(args.items)
    steps, n_pairs = {}, 0
    config = replace(TrainConfig(seed=args.seed, epochs=1), init="random")
    for n in sizes:
        rng = np.random.default_rng(args.seed)
        n_pairs = n * PAIRS_PER_ITEM
        split = planted_world(n_pairs // PAIRS_PER_USER, n, n_pairs, rng)
        near = rng.integers(n, size=(n, config.cooccurrence_k)).astype(np.int32)
        lists = Cooccurrence(near, np.ones(near.shape, dtype=np.float32))
        steps[f"{n}"] = ours(split, config, device, lists)
    clocks = measure(steps, config.batch_size, args.threads, args.seconds, device)
    rates = best(clocks, Clock.rate)
    value, rival = rates[f"{sizes[-1]}"], rates[f"{sizes[0]}"]
    metrics = comparison(value, "examples/s", rival=rival, better="higher")
    facts: dict[str, object] = {"items": sizes, "data": "planted"}
    method = "history" if device == "cpu" else f"history-{device}"
    write(method, config.dimensions, metrics, clocks, args, n_pairs, facts)


def best(clocks: Clocks, rate: Callable[[Clock], float]) -> dict[str, float]:
    """By contender, its rate with the number of threads that suits it best."""
    return {name: max(rate(c) for (n, _), c in clocks.items() if n == name) for name, _ in clocks}


def write(
    method: str, dimensions: int, metrics: dict[str, object], clocks: Clocks,
    args: argparse.Namespace, n_pairs: int, facts: dict[str, object],
) -> None:  # fmt: skip
    """Append one line and print it in short."""
    rates = {f"{name}, {threads}": clock.rate() for (name, threads), clock in clocks.items()}
    batch = next(iter(clocks.values())).batch
    config = {"pairs": n_pairs, "batch": batch, "dimensions": dimensions, "threads": args.threads}
    append(
        "training",
        {
            "method": method,
            "dimensions": dimensions,
            "seed": args.seed,
            "metrics": metrics | {"rates": rates},
            "seconds": round(sum(sum(c.walls) for c in clocks.values()), 1),
            "config": config | facts,
        },
    )
    print(f"{method}, {dimensions} dimensions: ratio {metrics['ratio']:.2f};", end=" ")
    print("; ".join(f"{name}: {rate:,.0f}/s" for name, rate in rates.items()), flush=True)


def main() -> None:
    """Measure every method and size asked for, and append one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a prepared split; by default a made one")
    parser.add_argument("--method", default="mf,lightgcn,history")
    parser.add_argument("--dimensions", default="64,128", help="of mf and lightgcn")
    parser.add_argument("--items", default="100000,1000000", help="of history")
    parser.add_argument("--device", default="cpu,cuda", help="of history; left out if missing")
    parser.add_argument("--seconds", type=float, default=30.0, help="per method and size")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    methods = args.method.split(",")
    keep_freed_memory()  # as training does; the references gain by it, too
    args.threads = sorted({int(n) for n in args.threads.split(",")})
    args.items = [int(n) for n in args.items.split(",")]
    if {"mf", "lightgcn"} & set(methods):
        rng = np.random.default_rng(args.seed)
        split = (
            Split.load(args.data) if args.data else planted_world(N_USERS, N_ITEMS, N_PAIRS, rng)
        )
        for method, size in itertools.product(methods, args.dimensions.split(",")):
            if method != "history":
                beside_reference(split, method, int(size), args)
    if "history" in methods:
        for device in args.device.split(","):
            if device != "cuda" or torch.cuda.is_available():
                by_items(device, args)


if __name__ == "__main__":
    main()
