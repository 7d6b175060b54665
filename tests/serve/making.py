"""Model folders that can be served, made in a moment: random codes and neighbours."""

import hashlib
import json

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.files import save_bytes
from elasticrec.model import Model
from elasticrec.ordering.order import COLUMN, SLOT, Order
from elasticrec.stream.side_files import catalogue
from elasticrec.stream.writer import Facts, stream_parts
from elasticrec.training.table import BlockTable

QUALITIES = (0.10, 0.14, 0.17, 0.19, 0.20, 0.2004, 0.2005)
"""Measured recall of the prefixes of a made model; the last ones are alike."""


def servable(root, *, n_items=3_000, n_users=40, n_blocks=2, columns=4, slots=3, seed=0,
             history=True, titles=True, sequence=1):  # fmt: skip
    """A model folder in `root`, whose items are called i0, i1, … and users u0, u1, …"""
    rng = np.random.default_rng(seed)
    model = Model.create(root)
    codes, neighbours = _codes(rng, n_items, n_blocks, columns), _neighbours(rng, n_items, slots)
    blocks = rng.normal(0, 0.1, (n_items, n_blocks, 8)).astype(np.float32)
    users = None if history else rng.normal(0, 1, (n_users, 8 * n_blocks)).astype(np.float32)
    if users is not None:
        users[1] = 0  # a user of whom nothing was learned
    split = _split(n_users, n_items, titles)
    model.save_part("split", split)
    model.save_part("table", BlockTable(blocks, users, "history" if history else "mf"))
    model.save_part("codes", codes)
    model.save_part("neighbours", neighbours)
    listed = catalogue(split.item_ids, split.titles, model.id)
    model.save_part("catalogue", lambda path: path.write_bytes(listed) and None)
    facts = Facts(model.id, 1, trained=1_767_323_045, sequence=sequence,
                  vector_person=not history, support=5,
                  catalogue=hashlib.sha256(listed).hexdigest())  # fmt: skip
    weights = np.full((columns + 1, 2), 0.5, dtype=np.float32)
    order = _order(n_items, columns, slots)
    parts = stream_parts(codes, neighbours, weights, order, facts=facts)
    model.save_part("stream", lambda path: save_bytes(path, b"".join(parts)))
    curve = json.dumps(_curve(model, n_items)).encode()
    model.save_part("curve", lambda path: path.write_bytes(curve) and None)
    return model


def _order(n_items, columns, slots):
    """A column for everyone, then levels that a popular quarter climbs first."""
    quarter, climbs = n_items // 4, []
    levels = [(COLUMN, c) for c in range(1, columns)]
    for number, slot in enumerate(range(slots)):
        levels.insert(2 * number, (SLOT, slot))
    for kind, which in levels:
        climbs += [(kind, which, 0, quarter), (kind, which, quarter, n_items - quarter)]
    return Order.of_climbs(n_items, [(COLUMN, 0, 0, n_items), *climbs], 1)


def _curve(model, n_items):
    from elasticrec.stream.chunk import read_index

    index = read_index(model.stream_path)
    whole, least = index.ends[-1], index.head.least
    wanted = np.linspace(least, whole, len(QUALITIES)).astype(int)
    points = [
        {"bytes": index.longest_prefix(int(n_bytes)), "bytes_per_item": round(n_bytes / n_items, 2),
         "recall@50": quality, "ndcg@50": quality / 2}
        for n_bytes, quality in zip(wanted, QUALITIES, strict=True)
    ]  # fmt: skip
    return {
        "part": "validation",
        "users": 5_000,
        "metric": "recall@50",
        "person": "history",
        "points": points,
        "full": {"recall@50": 0.21},
        "popularity": {"recall@50": 0.05},
    }


def _split(n_users, n_items, titles):
    nothing = Pairs.from_arrays(*np.zeros((2, 0), int), n_users=n_users, n_items=n_items)
    called = np.array([f"Book {n} – ein Buch" for n in range(n_items)], dtype=object)
    return Split(nothing, nothing, nothing, Ids.of([f"u{n}" for n in range(n_users)]),
                 Ids.of([f"i{n}" for n in range(n_items)]),
                 titles=called if titles else None, name="made")  # fmt: skip


def _codes(rng, n_items, n_blocks, columns):
    D = 8 * n_blocks
    return Codes(
        codebooks=(rng.integers(-60, 61, (32, D)).astype(np.int8),),
        columns=np.array([(0, 0, max(1, 64 >> c)) for c in range(columns)], dtype=np.int64),
        data=rng.integers(0, 256, (columns, n_items), dtype=np.uint8),
        n_blocks=n_blocks,
        unit=20_000.0,
        recency=0.1,
        cosine=True,
        gains=np.linspace(20_000, 30_000, columns).astype(np.uint16),
        popularity=np.full(28, 128, dtype=np.uint8),
        empty=rng.integers(-60, 61, D).astype(np.int8),
        rotation=np.eye(D, dtype=np.float32)[rng.permutation(D)],
    )


def _neighbours(rng, n_items, slots):
    votes = -np.sort(-rng.integers(1, 16, (n_items, slots)), axis=1)
    numbers = rng.integers(0, n_items, (n_items, slots))
    values = np.arange(16) * 600
    return Neighbours(numbers.astype(np.uint32), votes.astype(np.uint8), values.astype(np.uint16))
