"""The golden streams: tiny models made of hashes, so that any machine makes the same bytes."""

import hashlib

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from elasticrec.data.ids import Ids
from elasticrec.stream import side_files
from elasticrec.stream.chunk import stored_ids
from elasticrec.stream.format import Head
from elasticrec.stream.side_files import WithdrawnList
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import MadeCodes, MadeNeighbours, MadeOrder, stages

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Stream:
    """Endless bytes that follow from a name."""

    def __init__(self, name):
        self.name, self.used = name, 0

    def bytes(self, shape):
        self.used += 1
        content = hashlib.shake_256(f"{self.name} {self.used}".encode())
        return np.frombuffer(content.digest(int(np.prod(shape))), np.uint8).reshape(shape).copy()

    def below(self, limit, shape):
        """Whole numbers from 0 to limit - 1, limit at most 2^32."""
        return (self.bytes((*shape, 4)).view("<u4")[..., 0] % limit).astype(np.int64)

    def between(self, low, high, shape):
        """float64; only operations that every machine rounds alike."""
        return low + self.below(2**16, shape) * ((high - low) / 2**16)


def parts(world):
    """Codes, neighbours and vote weights of a world."""
    draw, V, D = Stream(world.name), world.n_items, 8 * world.n_blocks
    widths, columns = stages(*world.stages)
    columns = np.array([*columns.tolist(), *world.again], dtype=np.int64).reshape(-1, 3)
    low, high = world.limits
    codes = MadeCodes(
        codebooks=tuple(
            (draw.below(high - low, (32, 8 * w)) + low).astype(np.int8) for w in widths
        ),
        columns=columns,
        data=draw.bytes((len(columns), V)),
        empty=(draw.bytes((D,)).view(np.int8) if world.empty else np.zeros(D, np.int8)),
        unit=world.unit,
        recency=world.recency,
        cosine=world.cosine,
        popularity=(128 - draw.below(90, (28,))).astype(np.uint8),
        gains=gains(world, len(columns)),
    )
    votes = -np.sort(-draw.below(16, (V, world.n_slots)), axis=1)
    pool = np.arange(V) if V < 1000 else V - 1 - np.arange(40) * (V // 40)
    numbers = np.where(votes, pool[draw.below(len(pool), votes.shape)], 0)
    values = (np.arange(16) ** 2 * 17).astype(np.uint16)
    neighbours = MadeNeighbours(numbers.astype(np.uint32), votes.astype(np.uint8), values)
    weights = draw.between(0, world.strongest, (len(columns) + 1, 2)).astype(np.float32)
    return codes, neighbours, weights


def gains(world, n_columns):
    """The gain of each column, in no order."""
    low, high = world.gains
    return (high - Stream(f"gains of {world.name}").below(high - low + 1, (n_columns,))).astype(
        np.uint16
    )


def item_ids(kind, V):
    """Ids of a kind, in no order."""
    numbers = [(i * 7919 + 13) % 104_729 for i in range(V)]
    if kind == "u32":
        return Ids.of([n * 40_961 for n in numbers])
    if kind == "u64":
        return Ids.of([2**64 - 1 - n if n % 3 else n for n in numbers])
    if kind == "text":
        shapes = ["item-{}", "ключ {}", "书{}", "🎧{}", "\ufeff{}", "{}"]
        return Ids.of([shapes[i % len(shapes)].format(n) for i, n in enumerate(numbers)])
    return Ids.of(list(range(V)))


def catalogue(world):
    """The bytes of the world's catalogue, or None."""
    if not world.titles:
        return None
    titles = [f"Title {i} – “{i * i}”" if i % 3 else "" for i in range(world.n_items)]
    ids = item_ids(world.ids, world.n_items)
    return side_files.catalogue(ids, np.array(titles, dtype=object), world.model_id)


def stream(world):
    """The bytes of the world's stream."""
    listed = catalogue(world)
    facts = Facts(
        world.model_id,
        world.least_climbs,
        trained=1_700_000_000,
        sequence=7,
        vector_person=world.vector_person,
        support=5,
        catalogue=None if listed is None else hashlib.sha256(listed).hexdigest(),
    )
    ids = None
    if world.ids != "dense":
        ids = stored_ids(item_ids(world.ids, world.n_items), world.ids)
    order = MadeOrder.of(world.climbs)
    head, *chunks = stream_parts(*parts(world), order, facts=facts, ids=ids)
    if world.signed:
        head = Head.unpack(head).signed(KEY).pack()
    return b"".join([head, *chunks])


def withdrawn(world):
    """The bytes of the world's withdrawn list, or None."""
    if world.withdrawn is None:
        return None
    listed = WithdrawnList(world.model_id, np.array(world.withdrawn, dtype=np.int64), sequence=3)
    return listed.pack(KEY if world.signed else None)
