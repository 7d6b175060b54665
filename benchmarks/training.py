"""Training examples per second against a plain reference, in one run, at Gowalla's size.

    python -m benchmarks.training [--base mf,lightgcn] [--dimensions 64,128] [--seconds 20]
    python -m benchmarks.training --data gowalla.npz     # a prepared split instead of a made one

BPR with one unseen item per pair, batches of 8,192, CPU. The reference is what a textbook does:
unseen items drawn in NumPy, `nn.Embedding` with dense gradients, a COO `torch.sparse` product with
autograd's own backward, `torch.optim.Adam` over whole tables. Its sampler comes in two forms, a
loop over examples (the rival) and whole arrays at once (`rival_vectorised`, the harder rival).
Ours and theirs take turns, batch by batch, so that whatever else the machine does hits all alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.lines import append, comparison
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.data.synthetic import planted_world
from elasticrec.training.config import TrainConfig
from elasticrec.training.setup import make_base
from elasticrec.training.state import Run

N_USERS, N_ITEMS, N_PAIRS = 29_858, 40_981, 1_027_370
BATCH, LAYERS, L2, RATE = 8192, 3, 1e-4, 1e-3
CLAIMS = {"mf": 5.0, "lightgcn": 1.4}
"""How many times the reference's examples per second each base must reach at 64 dimensions."""

Triples = tuple[np.ndarray, np.ndarray, np.ndarray]
Sampler = Callable[[], Triples]


class Loop:
    """Triples drawn one after the other: a user, an item of hers, an item that is not."""

    def __init__(self, train: Pairs, rng: np.random.Generator) -> None:
        self.n_items, self.rng = train.n_items, rng
        self.items = [train.of(u).tolist() for u in range(train.n_users)]
        self.sets = [set(items) for items in self.items]
        self.users = np.flatnonzero(train.per_user)

    def __call__(self) -> Triples:
        """(B,) users, items they took and items they did not take."""
        triples = []
        for user in self.users[self.rng.integers(len(self.users), size=BATCH)].tolist():
            seen = self.items[user][self.rng.integers(len(self.items[user]))]
            unseen = self.rng.integers(self.n_items)
            while unseen in self.sets[user]:
                unseen = self.rng.integers(self.n_items)
            triples.append((user, seen, unseen))
        users, seen, unseen = np.array(triples).T
        return users, seen, unseen


class Vectorised:
    """The same by whole arrays: taken items are found by one search, and drawn again."""

    def __init__(self, train: Pairs, rng: np.random.Generator) -> None:
        self.train, self.rng, self.keys = train, rng, train.keys()
        self.users = train.users

    def __call__(self) -> Triples:
        """(B,) users, items they took and items they did not take."""
        rows = self.rng.integers(len(self.keys), size=BATCH)
        users = self.users[rows]
        unseen = self.rng.integers(self.train.n_items, size=BATCH)
        wrong = np.arange(BATCH)
        while len(wrong):
            keys = users[wrong].astype(np.int64) * self.train.n_items + unseen[wrong]
            at = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
            wrong = wrong[self.keys[at] == keys]
            unseen[wrong] = self.rng.integers(self.train.n_items, size=len(wrong))
        return users, self.train.items[rows], unseen


class Reference(nn.Module):
    """Plain MF or LightGCN: whole tables in autograd, a dense Adam over everything."""

    def __init__(self, train: Pairs, dimensions: int, sampler: Sampler, *, layers: int) -> None:
        super().__init__()
        self.sampler, self.layers = sampler, layers
        self.users = nn.Embedding(train.n_users, dimensions)
        self.items = nn.Embedding(train.n_items, dimensions)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)
        self.graph = _coo_graph(train) if layers else None
        self.adam = torch.optim.Adam(self.parameters(), lr=RATE)

    def vectors(self) -> tuple[Tensor, Tensor]:
        """Propagated users and items, the mean of all layers (Eq. 1)."""
        assert self.graph is not None
        layer = torch.cat([self.users.weight, self.items.weight])
        found = [layer]
        for _ in range(self.layers):
            layer = torch.sparse.mm(self.graph, layer)
            found.append(layer)
        mean = torch.stack(found, dim=1).mean(dim=1)
        n = self.users.num_embeddings
        return mean[:n], mean[n:]

    def step(self) -> None:
        """Draw one batch, and one step of Adam on it."""
        users, seen, unseen = (torch.from_numpy(x.astype(np.int64)) for x in self.sampler())
        own = self.users(users), self.items(seen), self.items(unseen)
        if self.graph is None:
            u, i, j = own
        else:
            all_users, all_items = self.vectors()
            u, i, j = all_users[users], all_items[seen], all_items[unseen]
        loss = nn.functional.softplus((u * j).sum(1) - (u * i).sum(1)).mean()
        loss = loss + L2 / 2 * sum(x.square().sum() for x in own) / len(users)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()


def _coo_graph(train: Pairs) -> Tensor:
    """The symmetrically normalised graph over users and items as one COO matrix."""
    users, items = train.users.astype(np.int64), train.items.astype(np.int64)
    weights = 1 / np.sqrt(train.per_user[users] * train.per_item[items])
    rows = np.concatenate([users, items + train.n_users])
    columns = np.concatenate([items + train.n_users, users])
    n = train.n_users + train.n_items
    values = torch.from_numpy(np.tile(weights, 2).astype(np.float32))
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows, columns])), values, (n, n), check_invariants=True
    ).coalesce()


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
        "claim": CLAIMS[base] if dimensions == 64 else None,
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
    print(
        f"{base}, {dimensions} dimensions: {rates['ours']:,.0f} examples/s; reference "
        f"{rates['loop']:,.0f} ({metrics['ratio']:.1f}×, CPU seconds {metrics['cpu_ratio']:.1f}×), "
        f"vectorised {rates['vectorised']:,.0f} ({metrics['ratio_vectorised']:.1f}×, "
        f"CPU seconds {metrics['cpu_ratio_vectorised']:.1f}×)",
        flush=True,
    )


def main() -> None:
    """Measure every base and size asked for, and append one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a prepared split; by default a made one")
    parser.add_argument("--base", default="mf,lightgcn")
    parser.add_argument("--dimensions", default="64,128")
    parser.add_argument("--seconds", type=float, default=30.0, help="per base and size")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.data:
        split = Split.load(args.data)
    else:
        split = planted_world(N_USERS, N_ITEMS, N_PAIRS, np.random.default_rng(args.seed))
    for base in args.base.split(","):
        for dimensions in map(int, args.dimensions.split(",")):
            clocks = measure(split, base, dimensions, args.seconds, args.seed)
            report(clocks, base, dimensions, split, args.seed)


if __name__ == "__main__":
    main()
