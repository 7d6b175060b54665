"""Training examples per second against a plain reference, in one run, at Gowalla's size.

    python -m benchmarks.training [--base mf,lightgcn] [--dimensions 64,128] [--threads 1,2]
    python -m benchmarks.training --data gowalla.npz     # a prepared split instead of a made one

BPR with one unseen item per pair, batches of 8,192, CPU. The reference is what a textbook does:
uniform triples drawn in NumPy, `nn.Embedding` with dense gradients, a COO `torch.sparse` product
with autograd's own backward, `torch.optim.Adam` over whole tables. Its sampler comes in two forms:
a loop over examples (the rival), and whole arrays at once (`rival_vectorised`, a harder rival).
Ours and theirs take turns, a few batches each, so that other work on the machine hits all alike.
"""

from __future__ import annotations

import argparse
import itertools
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
REACH = {"mf": 5.0, "lightgcn": 1.4}
"""How many times the reference's examples per second each base should reach at 64 dimensions."""


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


def ours(split: Split, base: str, dimensions: int, seed: int) -> Callable[[], None]:
    """A function that draws one batch and makes one step of our training."""
    config = TrainConfig(
        base=base,  # type: ignore[arg-type]
        n_blocks=dimensions // 8, loss="bpr", negatives=1, batch_size=BATCH,
        learning_rate=RATE, schedule="constant", l2=L2, layers=LAYERS, readout="mean",
        init="random", init_scale=0.1 * dimensions**0.5, seed=seed,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    run = Run(split, config, make_base(split.train, config, generator), generator, None)

    def batches() -> Iterator[None]:
        epoch = 0
        while True:
            for batch in run.sampler.epoch(seed, epoch, generator):
                run.step(batch, RATE)
                yield
            epoch += 1

    stream = batches()
    return lambda: next(stream)


def reference(
    split: Split, base: str, dimensions: int, sampler: type[Loop | Vectorised], seed: int
) -> Callable[[], None]:
    """A function that draws one batch and makes one step of the reference."""
    rng = np.random.default_rng(seed)
    model = Reference(
        split.train, dimensions, sampler(split.train, rng), layers=LAYERS * (base == "lightgcn")
    )
    return model.step


def measure(
    split: Split, base: str, dimensions: int, seconds: float, seed: int
) -> dict[str, Clock]:
    """Clocks of ours and of both references, after taking turns for a while."""
    contenders = {
        "ours": ours(split, base, dimensions, seed),
        "loop": reference(split, base, dimensions, Loop, seed),
        "vectorised": reference(split, base, dimensions, Vectorised, seed),
    }
    clocks = {name: Clock() for name in contenders}
    for step in contenders.values():
        step()  # warm up: shuffle, allocate
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for name, step in contenders.items():
            for _ in range(TURN):
                clocks[name].time(step)
    return clocks


def report(clocks: dict[str, Clock], base: str, dimensions: int, split: Split, seed: int) -> None:
    """Append one line and say it in short."""
    rates = {name: clock.rate() for name, clock in clocks.items()}
    cpu = {name: clock.cpu_rate() for name, clock in clocks.items()}
    metrics = comparison(rates["ours"], "examples/s", rival=rates["loop"], better="higher")
    metrics |= {
        "rival_vectorised": rates["vectorised"],
        "ratio_vectorised": rates["ours"] / rates["vectorised"],
        "cpu_ratio": cpu["ours"] / cpu["loop"],
        "cpu_ratio_vectorised": cpu["ours"] / cpu["vectorised"],
        "reach": REACH[base] if dimensions == 64 else None,
    }
    config = {
        "pairs": len(split.train), "users": split.n_users, "items": split.n_items,
        "batch": BATCH, "dimensions": dimensions, "layers": LAYERS if base == "lightgcn" else 0,
        "threads": torch.get_num_threads(), "data": split.name,
    }  # fmt: skip
    append(
        "training",
        {
            "method": base,
            "dimensions": dimensions,
            "seed": seed,
            "metrics": metrics,
            "seconds": round(sum(sum(c.walls) for c in clocks.values()), 1),
            "config": config,
        },
    )
    said = f"{base}, {dimensions} dimensions, threads: {config['threads']}: "
    said += f"{rates['ours']:,.0f} examples/s"
    for name, ratio in (("loop", "ratio"), ("vectorised", "ratio_vectorised")):
        times = f"{metrics[ratio]:.1f}×, CPU seconds {metrics['cpu_' + ratio]:.1f}×"
        said += f"; reference, {name} {rates[name]:,.0f} ({times})"
    print(said, flush=True)


def main() -> None:
    """Measure every base and size asked for, and append one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a prepared split; by default a made one")
    parser.add_argument("--base", default=",".join(REACH))
    parser.add_argument("--dimensions", default="64,128")
    parser.add_argument("--seconds", type=float, default=30.0, help="per base and size")
    parser.add_argument("--threads", default="1", help="1 is least disturbed by other work")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.data:
        split = Split.load(args.data)
    else:
        split = planted_world(N_USERS, N_ITEMS, N_PAIRS, np.random.default_rng(args.seed))
    bases, sizes, threads = (text.split(",") for text in (args.base, args.dimensions, args.threads))
    for base, dimensions, n_threads in itertools.product(bases, map(int, sizes), map(int, threads)):
        torch.set_num_threads(n_threads)
        clocks = measure(split, base, dimensions, args.seconds, args.seed)
        report(clocks, base, dimensions, split, args.seed)


if __name__ == "__main__":
    main()
