"""Synthetic data: a tiny world of two tastes, and one of any size with planted tastes.

    python -m benchmarks.synthetic --users 1000000 --items 1000000 --pairs 100000000 -o split.npz
    python -m benchmarks.synthetic --pairs 100000000 --parquet shards/

In both worlds the best list of everyone is known, so that a model's quality can be compared with
the most that there is. A split needs numpy and torch, and takes seconds on a GPU (`--device cuda`);
a log as Parquet needs polars, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.split import Split
from elasticrec.data.splitting import random_split, split_in_order

if TYPE_CHECKING:
    from torch import Generator, Tensor

OWN_TASTE = 0.8
"""The share of a planted user's draws that come from her own clusters."""
OVERDRAW = 1.3
"""Factor of the pairs drawn at first, since some are drawn twice."""
BLOCK = {"cpu": 1 << 20, "cuda": 1 << 25}
"""Pairs made at once."""
START, SPAN = 1_600_000_000, 30_000_000
"""Seconds: first time in a log, and how long it runs."""


def two_tastes(n_users: int, n_items: int, rng: np.random.Generator) -> Split:
    """A world of two tastes: the first half of the users like exactly the first half of the items.

    The second half like the others. Three fifths of a user's items (at random) are in train, a
    fifth in validation, the rest in test, so the best list is known: what she has not seen of
    her half, before everything else.
    """
    if n_users < 2 or n_items < 6:
        raise ValueError(f"{n_users} users and {n_items} items, expected at least 2 and 6")
    cut = (n_users + 1) // 2, (n_items + 1) // 2
    likes = (np.arange(n_users)[:, None] < cut[0]) == (np.arange(n_items)[None, :] < cut[1])
    users, items = np.nonzero(likes)
    pairs = Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)
    world = Interactions(pairs, Ids.dense(n_users), Ids.dense(n_items), name="two-tastes")
    return split_in_order(world, (0.6, 0.2, 0.2), rng.random(len(pairs)), "random")


@dataclass(frozen=True, eq=False)
class World:
    """Planted tastes: every item belongs to one cluster, every user to two, maybe the same twice.

    A user takes distinct items one after the other. Each comes from one of her clusters with
    chance `OWN_TASTE`, else from anywhere, each time in proportion to the items' pull. So the best
    list is known: what she has not taken, by falling chance.
    """

    pull: Tensor
    """(V,) float64: 1 / popularity rank ** skew."""
    cluster: Tensor
    """(V,) int64."""
    homes: Tensor
    """(U, 2) int64: clusters of each user."""
    quotas: Tensor
    """(U,) int64: number of items that each user takes."""
    generator: Generator
    """Draws what users take."""

    @classmethod
    def planted(
        cls,
        n_users: int,
        n_items: int,
        n_pairs: int,
        seed: int,
        *,
        n_clusters: int = 50,
        skew: float = 0.8,
        device: str = "cpu",
    ) -> World:
        """A world of some size; the same seed gives the same world on the same kind of device.

        Args:
            n_pairs: distinct pairs in all, exactly.
            skew: the item at popularity rank r is drawn in proportion to 1 / r ** skew.
        """
        import torch

        if not n_users <= n_pairs <= n_users * n_items / 4:
            raise ValueError(f"{n_pairs} pairs, expected {n_users} to {n_users * n_items // 4}")
        drawn = torch.Generator(device).manual_seed(seed)
        on = {"generator": drawn, "device": device}
        rank = torch.randperm(n_items, **on)  # type: ignore[call-overload]
        n_clusters = min(n_clusters, n_items)
        cluster = torch.randperm(n_items, **on) % n_clusters  # type: ignore[call-overload]
        homes = torch.randint(n_clusters, (n_users, 2), **on)  # type: ignore[call-overload]
        activity = torch.exp(0.8 * torch.randn(n_users, dtype=torch.float64, **on)) + 0.3  # type: ignore[call-overload]
        quotas, most = torch.ones_like(homes[:, 0]), n_items // 2
        while left := n_pairs - int(quotas.sum()):  # someone at the limit leaves hers to others
            activity[quotas >= most] = 0
            ends = (activity.cumsum(0) / activity.sum() * left).round().long()
            quotas = (quotas + ends.diff(prepend=ends[:1] * 0)).clamp(max=most)
        return cls(1 / (rank + 1.0).double() ** skew, cluster, homes, quotas, drawn)

    def blocks(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        """The first of some users, their numbers of items, and these in the order they are taken.

        All users come, some after the other.
        """
        import torch

        n_items, device = len(self.pull), self.pull.device
        order = torch.argsort(self.cluster, stable=True)  # items cluster by cluster
        ends = torch.cat([self.pull.new_zeros(1), self.pull[order].cumsum(0)])
        edges = ends[self.cluster.bincount().cumsum(0)]
        edges = torch.cat([edges.new_zeros(1), edges])
        room = BLOCK[device.type]

        def uniform(n: int) -> Tensor:
            return torch.rand(n, dtype=torch.float64, generator=self.generator, device=device)

        def draw(homes: Tensor) -> Tensor:
            """(n,) an item for each pair of clusters."""
            home = torch.where(uniform(len(homes)) < 0.5, homes[:, 0], homes[:, 1])
            own = uniform(len(homes)) < OWN_TASTE
            low = torch.where(own, edges[home], 0.0)
            high = torch.where(own, edges[home + 1], ends[-1])
            at = torch.searchsorted(ends, low + uniform(len(homes)) * (high - low), right=True) - 1
            return order[at.clamp(0, n_items - 1)]

        totals = self.quotas.cumsum(0)
        start = 0
        while start < len(self.quotas):
            before = totals[start] - self.quotas[start]
            stop = max(start + 1, int(torch.searchsorted(totals, before + room, right=True)))
            quota, homes = self.quotas[start:stop], self.homes[start:stop]
            wanted = (quota * OVERDRAW).long() + 4
            rows = items = quota[:0]
            while True:
                more = torch.repeat_interleave(wanted)
                rows, items = torch.cat([rows, more]), torch.cat([items, draw(homes[more])])
                keys, at = torch.sort(rows * n_items + items, stable=True)
                at = at[keys.diff(prepend=keys[:1] - 1) > 0]  # first draws alone
                at = at[torch.argsort(rows[at] * len(rows) + at)]
                rows, items = rows[at], items[at]
                found = rows.bincount(minlength=len(quota))
                rank = torch.arange(len(rows), device=device) - (found.cumsum(0) - found)[rows]
                kept = rank < quota[rows]
                rows, items = rows[kept], items[kept]
                lacking = (quota - found).clamp(min=0)
                if not lacking.any():
                    break
                wanted = torch.where(lacking > 0, 2 * lacking + 8, 0)
            yield start, quota, items
            start = stop

    def pairs(self) -> Pairs:
        """Who takes what, without the order."""
        import torch

        found = []
        for _, quota, items in self.blocks():
            rows = torch.repeat_interleave(quota) * len(self.pull)
            found.append(((rows + items).sort().values - rows).int().cpu().numpy())
        indptr = np.concatenate(([0], self.quotas.cumsum(0).cpu().numpy()))
        return Pairs(indptr, np.concatenate(found), len(self.pull))

    def best_lists(self, users: np.ndarray, seen: Pairs, k: int, at_once: int = 64) -> np.ndarray:
        """(n, k) the items with the largest chances to be taken next, the best first.

        Args:
            seen: what they have taken, by user.
        """
        import torch

        lists = []
        mass = self.pull.new_zeros(int(self.cluster.max()) + 1)
        mass = self.pull / mass.index_add(0, self.cluster, self.pull)[self.cluster]
        for some in np.split(users, range(at_once, len(users), at_once)):
            own = self.cluster == self.homes[some][:, :, None]  # (n, 2, V)
            chances = own.sum(1) * mass * (OWN_TASTE / 2)
            chances += self.pull / self.pull.sum() * (1 - OWN_TASTE)
            taken = seen.rows(some)
            at = (torch.from_numpy(each).long() for each in (taken.users, taken.items))
            chances[tuple(at)] = 0
            lists.append(chances.topk(k).indices.cpu().numpy())
        return np.concatenate(lists)

    def write_log(self, folder: Path, shards: int = 16, end: str = "parquet") -> None:
        """Write the log as Parquet or CSV files, oldest first, with text ids, ratings and times."""
        import polars as pl
        import torch

        piles: list[list[np.ndarray]] = [[] for _ in range(shards)]
        for start, quota, items in self.blocks():
            rows = torch.repeat_interleave(quota)
            rank = torch.arange(len(rows), device=rows.device) - (quota.cumsum(0) - quota)[rows]
            when = (rank + 0.5) / quota[rows]
            row = torch.stack([rows + start, items, (when * SPAN).long()], 1).int().cpu().numpy()
            of = (row[:, 2].astype(np.int64) * shards // SPAN).astype(np.int8)
            for shard, pile in enumerate(piles):
                pile.append(row[of == shard])
        folder.mkdir(parents=True, exist_ok=True)
        for shard, pile in enumerate(piles):
            whole = np.concatenate(pile)
            pile.clear()
            whole = whole[np.argsort(whole[:, 2], kind="stable")]
            frame = pl.DataFrame(whole, schema=["user", "item", "seconds"]).select(
                pl.format("customer-{}", "user").alias("user_id"),
                pl.format("article/{}", "item").alias("item_id"),
                (pl.col("item") % 5 + 1).alias("rating"),
                (pl.col("seconds").cast(pl.Int64) + START).alias("timestamp"),
            )
            path = folder / f"part-{shard:04d}.{end}"
            frame.write_csv(path) if end == "csv" else frame.write_parquet(path)


def planted_world(
    n_users: int,
    n_items: int,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    n_clusters: int = 50,
    skew: float = 0.8,
) -> Split:
    """A world with planted tastes, split 70/10/20 per user at random."""
    seed = int(rng.integers(2**62))
    world = World.planted(n_users, n_items, n_pairs, seed, n_clusters=n_clusters, skew=skew)
    return split_of(world, rng)


def split_of(world: World, rng: np.random.Generator) -> Split:
    """What the users of a world take, split 70/10/20 per user at random."""
    pairs = world.pairs()
    ids = Ids.dense(pairs.n_users), Ids.dense(pairs.n_items)
    return random_split(Interactions(pairs, *ids, name="planted"), (0.7, 0.1, 0.2), rng=rng)


def main() -> None:
    """Write a split, or a log as a folder of Parquet files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, default in (("users", 1_000_000), ("items", 1_000_000), ("pairs", 100_000_000)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--clusters", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", "--out", type=Path, help="the split to write")
    parser.add_argument("--parquet", type=Path, help="the folder of a log to write")
    args = parser.parse_args()
    started = time.perf_counter()
    sizes = args.users, args.items, args.pairs
    world = World.planted(*sizes, args.seed, n_clusters=args.clusters, device=args.device)
    if args.parquet:
        world.write_log(args.parquet)
    else:
        split_of(world, np.random.default_rng(args.seed)).save(args.out or Path("split.npz"))
    print(f"wrote {args.pairs:,} pairs in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
