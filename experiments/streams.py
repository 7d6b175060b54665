"""Trained tables, which experiments share, and the streams that are made of them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours, make_neighbours
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.measure import Person, measure
from elasticrec.evaluation.ranking import Evaluation, Part
from elasticrec.ordering.order import Order
from elasticrec.ordering.search import FoundOrder, OrderSearchConfig, find_order
from elasticrec.presets import Preset
from elasticrec.stages import code_items
from elasticrec.stream.chunk import StreamIndex, index_of
from elasticrec.stream.curve import prefix_composition
from elasticrec.stream.writer import Facts, stream_parts
from elasticrec.training.config import TrainConfig
from elasticrec.training.table import BlockTable
from experiments.command import LOCAL, Task
from experiments.lines import config_hash
from experiments.provenance import code_hash

TABLES = LOCAL / "tables"
METRICS = ("recall@20", "recall@50", "ndcg@50")
TRAINING = tuple(f"src/elasticrec/{room}" for room in ("data", "evaluation", "training"))
"""The code that a trained table depends on."""


@dataclass(frozen=True)
class Point:
    """A prefix of a stream, measured."""

    bytes_per_item: float
    """As asked for."""
    file_bytes: int
    """The longest run of whole chunks within it."""
    found: Evaluation


def chooser(split: Split, users: np.ndarray) -> Split:
    """The split whose validation holds the items of some users alone: all that may be chosen by."""
    pairs = split.validation
    mine = np.isin(pairs.users, users)
    kept = Pairs.from_arrays(
        pairs.users[mine], pairs.items[mine], n_users=pairs.n_users, n_items=pairs.n_items
    )
    return replace(split, validation=kept)


def trained(
    task: Task, split: Split, config: TrainConfig, order: np.ndarray | None = None
) -> BlockTable:
    """The table of a split whose items are numbered by popularity, trained once for all.

    Args:
        task: names the data set, the device, and maybe a folder of tables trained before.
        order: (V,) the prepared split's number of each item.
    """
    if task.tables is not None:
        return kept_table(task.tables, task.dataset, config.seed, split, order)
    from elasticrec.training.loop import choose_temperature, train
    from experiments.baselines.fitting import make_rival

    key = config_hash([asdict(config), split.fingerprint(), code_hash(*TRAINING)])
    path = TABLES / f"{task.dataset}-{config.base}-{config.seed}-{key}.safetensors"
    with alone(path.stem):
        if not path.exists():
            if config.temperatures and config.loss == "softmax":
                choice = choose_temperature(split, config, device=task.device)
                config = replace(config, temperature=float(choice.chosen))
            train(split, config, device=task.device, make=make_rival).table.save(path)
    return BlockTable.load(path)


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Wait until no other process is in a block of that name."""
    TABLES.mkdir(parents=True, exist_ok=True)
    with (TABLES / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def kept_table(
    folder: Path, name: str, seed: int, split: Split, order: np.ndarray | None = None
) -> BlockTable:
    """The table that a folder holds for a data set, its items by falling popularity.

    That is `NAME-SEED.safetensors`, or the unit items of `history` in the prepared split's own
    numbers: `NAME-0.npy`, or in parts `NAME-0.npy`, `NAME-1.npy`, …
    """
    path = folder / f"{name}-{seed}.safetensors"
    if path.exists():
        return BlockTable.load(path)
    parts = sorted(folder.glob(f"{name}-[0-9].npy"))
    if not parts:
        raise InputError(f"{folder} holds no {path.name} and no {name}-0.npy")
    items = np.concatenate([np.load(part) for part in parts]).astype(np.float32)
    if len(items) != split.n_items:
        raise InputError(f"{folder}: {len(items):,} items of {name}, expected {split.n_items:,}")
    items = items if order is None else items[order]
    items /= np.maximum(np.linalg.norm(items, axis=1, keepdims=True), 1e-12)
    return BlockTable(items.reshape(len(items), -1, 8), None, "history", cosine=True)


@dataclass(frozen=True, eq=False)
class Coded:
    """A compressed table: what streams are made of."""

    split: Split
    table: BlockTable
    codes: Codes
    neighbours: Neighbours
    preset: Preset

    @classmethod
    def make(cls, split: Split, table: BlockTable, preset: Preset, device: str) -> Coded:
        """Codes and neighbour lists of a table, as in `fit`."""
        neighbours = make_neighbours(split.train, preset.compression)
        codes = code_items(table, split, preset, device=device)
        return cls(split, table, codes, neighbours, preset)

    @property
    def least(self) -> int:
        """Columns of the smallest useful prefix."""
        return min(self.preset.compression.fewest_residual, self.codes.n_columns)

    @property
    def vectors(self) -> np.ndarray | None:
        """(U, D) server vectors, rotated as the codes are."""
        return None if self.table.users is None else self.table.users @ self.codes.rotation

    def find(self, choosing: np.ndarray, config: OrderSearchConfig, device: str) -> FoundOrder:
        """The order and vote weights that some validation users choose."""
        return find_order(
            self.codes, self.neighbours, chooser(self.split, choosing), config, least=self.least,
            vectors=self.vectors, device=device,
        )  # fmt: skip

    def stream(self, order: Order, weights: np.ndarray) -> StreamIndex:
        """The index of the stream of an order, with dense ids."""
        facts = Facts(model_id=64 * "0", least_climbs=order.least)
        parts = stream_parts(self.codes, self.neighbours, weights, order, facts=facts)
        data = b"".join(parts)
        return index_of(data, len(data))

    def points(
        self, order: Order, weights: np.ndarray, sizes: tuple[float, ...], *,
        users: np.ndarray | None, person: Person, device: str, part: Part = "validation",
    ) -> Iterator[Point]:  # fmt: skip
        """A stream measured on some users of a part, at those sizes that it has."""
        yield from measured(
            self.stream(order, weights), self.codes, self.neighbours, weights, self.split, sizes,
            users=users, person=person, vectors=self.vectors, device=device, part=part,
        )  # fmt: skip


def measured(
    index: StreamIndex,
    codes: Codes,
    neighbours: Neighbours,
    weights: np.ndarray,
    split: Split,
    sizes: tuple[float, ...],
    *,
    users: np.ndarray | None,
    person: Person,
    vectors: np.ndarray | None,
    device: str,
    part: Part = "validation",
) -> Iterator[Point]:
    """Prefixes of a stream at some bytes per item, those below the smallest useful one left out."""
    for size in sizes:
        budget = round(size * split.n_items)
        if budget < index.head.least:
            continue
        n_bytes = index.longest_prefix(budget)
        found = measure(
            codes, neighbours, weights, prefix_composition(index, n_bytes), split, part=part,
            users=users, person=person, vectors=vectors, metrics=METRICS, device=device,
        )  # fmt: skip
        yield Point(size, n_bytes, found)
