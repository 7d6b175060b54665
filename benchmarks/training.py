"""Training examples per second against a plain reference, in one run, at Gowalla's size.

    python -m benchmarks.training [--method mf,mf-adam,lightgcn] [--dimensions 64,128]
    python -m benchmarks.training --data gowalla.npz     # a prepared split instead of a made one

BPR with one unseen item per pair, batches of 8,192, CPU. The reference is what a textbook does:
uniform triples drawn in NumPy, `nn.Embedding` with dense gradients, a COO `torch.sparse` product
with autograd's own backward, `torch.optim.Adam` over whole tables. Its sampler works on whole
arrays (the rival) or, as in much published code, on one example after the other (`rival_loop`).
`mf` steps by our row-wise Adagrad, `mf-adam` and `lightgcn` by Adam. Ours and theirs take turns, a
few batches each and with every number of threads, so that other work on the machine hits all
alike; each contender counts with the number of threads that suits it best.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from benchmarks.lines import append, comparison
from benchmarks.plain.bpr import BATCH, L2, LAYERS, RATE, Loop, Reference, Vectorised
from elasticrec.data.split import Split
from elasticrec.data.synthetic import planted_world
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base
from elasticrec.training.state import Run

N_USERS, N_ITEMS, N_PAIRS = 29_858, 40_981, 1_157_000
"""Gowalla's size: 70 % of the pairs, 810,000, are in train."""
TURN = 4
"""Batches before it is another's turn."""
METHODS = {"mf": "adagrad", "mf-adam": "adam", "lightgcn": "adam"}
"""What is measured, and the optimiser of ours."""
REACH = {"mf": 5.0, "lightgcn": 1.4}
"""How many times the reference's examples per second should be reached at 64 dimensions."""
ADAGRAD_RATE = 0.1

Contender = tuple[str, int]
"""Its name, and a number of threads."""


@dataclass
class Clock:
    """Times of every batch of one contender."""

    walls: list[float] = field(default_factory=list)
    """Seconds by the clock."""
    cpus: list[float] = field(default_factory=list)
    """Seconds of all cores' work."""

    def time(self, work: Callable[[], None]) -> None:
        """Do the work and note how long it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.walls.append(time.perf_counter() - wall)
        self.cpus.append(time.process_time() - cpu)

    def rate(self) -> float:
        """Examples per second by the clock, from the median batch."""
        return BATCH / float(np.median(self.walls))

    def cpu_rate(self) -> float:
        """Examples per second of CPU time, from the median batch."""
        return BATCH / float(np.median(self.cpus))


def ours(split: Split, method: str, dimensions: int, seed: int) -> Callable[[], None]:
    """A function that draws one batch and makes one step of our training."""
    optimizer = METHODS[method]
    rate = ADAGRAD_RATE if optimizer == "adagrad" else RATE
    config = TrainConfig(
        base=method.removesuffix("-adam"), optimizer=optimizer,  # type: ignore[arg-type]
        n_blocks=dimensions // 8, loss="bpr", negatives=1, batch_size=BATCH,
        learning_rate=rate, schedule="constant", l2=L2, layers=LAYERS, readout="mean",
        init="random", init_scale=0.1 * dimensions**0.5, seed=seed,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    run = Run(split, config, make_base(split.train, config, generator), generator, None)

    def batches() -> Iterator[None]:
        epoch = 0
        while True:
            for batch in run.sampler.epoch(seed, epoch, generator):
                run.step(batch, rate)
                yield
            epoch += 1

    stream = batches()
    return lambda: next(stream)


def reference(
    split: Split, method: str, dimensions: int, sampler: type[Loop | Vectorised], seed: int
) -> Callable[[], None]:
    """A function that draws one batch and makes one step of the reference."""
    rng = np.random.default_rng(seed)
    model = Reference(
        split.train, dimensions, sampler(split.train, rng), layers=LAYERS * (method == "lightgcn")
    )
    return model.step


def measure(
    split: Split, method: str, dimensions: int, threads: list[int], seconds: float, seed: int
) -> dict[Contender, Clock]:
    """Clocks of ours and of both references, after taking turns for a while."""
    steps = {
        "ours": ours(split, method, dimensions, seed),
        "vectorised": reference(split, method, dimensions, Vectorised, seed),
        "loop": reference(split, method, dimensions, Loop, seed),
    }
    clocks = {each: Clock() for each in itertools.product(steps, threads)}
    for step in steps.values():
        step()  # warm up: shuffle, allocate
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for (name, n_threads), clock in clocks.items():
            torch.set_num_threads(n_threads)
            for _ in range(TURN):
                clock.time(steps[name])
    return clocks


def report(
    clocks: dict[Contender, Clock], method: str, dimensions: int, split: Split, seed: int
) -> None:
    """Append one line and say it in short."""
    rates = {name: max(c.rate() for (n, _), c in clocks.items() if n == name) for name, _ in clocks}
    cpu = {name: max(c.cpu_rate() for (n, _), c in clocks.items() if n == name) for name in rates}
    metrics = comparison(rates["ours"], "examples/s", rival=rates["vectorised"], better="higher")
    metrics |= {
        "rival_loop": rates["loop"],
        "ratio_loop": rates["ours"] / rates["loop"],
        "cpu_ratio": cpu["ours"] / cpu["vectorised"],
        "cpu_ratio_loop": cpu["ours"] / cpu["loop"],
        "rates": {f"{name}, {threads}": clock.rate() for (name, threads), clock in clocks.items()},
        "reach": REACH.get(method) if dimensions == 64 else None,
    }
    config = {
        "pairs": len(split.train), "users": split.n_users, "items": split.n_items,
        "batch": BATCH, "dimensions": dimensions, "layers": LAYERS * (method == "lightgcn"),
        "optimizer": METHODS[method], "threads": sorted({threads for _, threads in clocks}),
        "data": split.name,
    }  # fmt: skip
    append(
        "training",
        {
            "method": method,
            "dimensions": dimensions,
            "seed": seed,
            "metrics": metrics,
            "seconds": round(sum(sum(c.walls) for c in clocks.values()), 1),
            "config": config,
        },
    )
    said = f"{method}, {dimensions} dimensions: {rates['ours']:,.0f} examples/s"
    for name, ratio in (("vectorised", "ratio"), ("loop", "ratio_loop")):
        times = f"{metrics[ratio]:.1f}×, CPU seconds {metrics['cpu_' + ratio]:.1f}×"
        said += f"; reference, {name} {rates[name]:,.0f} ({times})"
    print(said, flush=True)


def main() -> None:
    """Measure every method and size asked for, and append one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a prepared split; by default a made one")
    parser.add_argument("--method", default=",".join(METHODS))
    parser.add_argument("--dimensions", default="64,128")
    parser.add_argument("--seconds", type=float, default=30.0, help="per method and size")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.data:
        split = Split.load(args.data)
    else:
        split = planted_world(N_USERS, N_ITEMS, N_PAIRS, np.random.default_rng(args.seed))
    threads = sorted({int(n) for n in args.threads.split(",")})
    sizes = [int(size) for size in args.dimensions.split(",")]
    for method, dimensions in itertools.product(args.method.split(","), sizes):
        clocks = measure(split, method, dimensions, threads, args.seconds, args.seed)
        report(clocks, method, dimensions, split, args.seed)


if __name__ == "__main__":
    main()
