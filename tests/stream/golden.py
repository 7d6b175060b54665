"""The golden streams: tiny models made of hashes, so that any machine makes the same bytes."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from elasticrec.data.ids import Ids
from elasticrec.stream import catalogue as catalogues
from elasticrec.stream.ids import stored_ids
from elasticrec.stream.withdrawn import WithdrawnList
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import MadeCodes, MadeNeighbours, MadeOrder, alike, stages

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


@dataclass(frozen=True)
class World:
    """One golden stream."""

    name: str
    teaches: str
    n_items: int
    n_blocks: int
    stages: tuple
    """(width, first blocks, scale) of each codebook and its columns."""
    steps: tuple
    n_slots: int = 0
    least_steps: int = 1
    ids: str = "dense"
    cosine: bool = True
    unit: float = 20_000.0
    recency: float = 0.125
    vector_person: bool = True
    withdrawn: tuple | None = None
    signed: bool = False
    titles: bool = False
    again: tuple = ()
    """Further columns of codebooks that came before: (codebook, first block, scale)."""
    limits: tuple = (-128, 128)
    """Range of the numbers of codewords."""
    strongest: float = 0.0005
    """Vote weights lie between 0 and this."""
    empty: bool = True
    """The vector of a person with an empty history is not all 0."""
    extra: dict = field(default_factory=dict)

    @property
    def model_id(self):
        return hashlib.sha256(self.name.encode()).hexdigest()


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
    )
    votes = -np.sort(-draw.below(16, (V, world.n_slots)), axis=1)
    pool = np.arange(V) if V < 1000 else V - 1 - np.arange(40) * (V // 40)
    numbers = np.where(votes, pool[draw.below(len(pool), votes.shape)], 0)
    values = (np.arange(16) ** 2 * 17).astype(np.uint16)
    neighbours = MadeNeighbours(numbers.astype(np.uint32), votes.astype(np.uint8), values)
    weights = draw.between(0, world.strongest, (len(columns) + 1, 2)).astype(np.float32)
    return codes, neighbours, weights


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
    return catalogues.catalogue(ids, np.array(titles, dtype=object), world.model_id)


def stream(world):
    """The bytes of the world's stream."""
    listed = catalogue(world)
    facts = Facts(
        world.model_id,
        world.least_steps,
        trained=1_700_000_000,
        sequence=7,
        vector_person=world.vector_person,
        support=5,
        catalogue=None if listed is None else hashlib.sha256(listed).hexdigest(),
    )
    ids = None
    if world.ids != "dense":
        ids = stored_ids(item_ids(world.ids, world.n_items), world.ids)
    order, key = MadeOrder.of(world.steps), KEY if world.signed else None
    return b"".join(stream_parts(*parts(world), order, facts=facts, ids=ids, key=key))


def withdrawn(world):
    """The bytes of the world's withdrawn list, or None."""
    if world.withdrawn is None:
        return None
    listed = WithdrawnList(world.model_id, np.array(world.withdrawn, dtype=np.int64), sequence=3)
    return listed.pack(KEY if world.signed else None)


WORLDS = (
    World(
        "dense",
        "a residual codebook, then a sub-vector codebook of two columns, and slots; popular items "
        "lead; made to be read while it grows",
        150,
        2,
        ((2, (0,), 64), (1, (0, 1), 16)),
        (
            (0, 0, 0, 150),
            (1, 0, 0, 50),
            (0, 1, 0, 100),
            (1, 0, 50, 100),
            (0, 1, 100, 50),
            (0, 2, 0, 150),
            (1, 1, 0, 31),
        ),
        n_slots=2,
    ),
    World(
        "u32",
        "u32 ids, score dot, titles; some items have slots and no column, some have nothing",
        97,
        1,
        ((1, (0,), 3),),
        ((0, 0, 0, 41), (1, 0, 0, 60), (1, 0, 60, 13), (1, 1, 0, 20), (1, 2, 0, 5)),
        n_slots=3,
        least_steps=2,
        ids="u32",
        cosine=False,
        unit=500.0,
        recency=0.0,
        titles=True,
    ),
    World(
        "u64",
        "u64 ids beyond 2^53, a codebook of two of three blocks, a codebook used again",
        64,
        3,
        ((3, (0,), 1000), (2, (1,), 100), (1, (0,), 30)),
        alike(64, 6, 2, every=2),
        n_slots=2,
        ids="u64",
        again=((2, 2, 30), (1, 0, 10), (0, 0, 1)),
        unit=300_000.0,
        recency=1.0,
    ),
    World(
        "text",
        "ids of any Unicode text that come with their items, a withdrawn list, score dot, titles",
        60,
        2,
        ((2, (0,), 5), (1, (0, 1), 2)),
        (
            (0, 0, 0, 20),
            (0, 0, 20, 20),
            (1, 0, 0, 30),
            (0, 1, 0, 20),
            (0, 0, 40, 20),
            (1, 0, 30, 30),
            (0, 1, 20, 40),
            (0, 2, 0, 33),
        ),
        n_slots=1,
        ids="text",
        cosine=False,
        unit=500.0,
        vector_person=False,
        withdrawn=(0, 3, 31, 59),
        titles=True,
    ),
    World(
        "signed",
        "a signed head and links, a signed withdrawn list; made to be read while it grows",
        80,
        1,
        ((1, (0,), 200), (1, (0,), 50)),
        alike(80, 2, 3),
        n_slots=3,
        ids="u32",
        withdrawn=(5, 6, 7, 79),
        signed=True,
    ),
    World(
        "wide",
        "more than 65,536 items, neighbour numbers of 17 bits; most items have nothing",
        70_001,
        1,
        ((1, (0,), 77),),
        ((0, 0, 0, 8765), (1, 0, 0, 301), (1, 0, 8001, 1207)),
        n_slots=1,
    ),
    World(
        "single", "one item; neighbour numbers of one bit", 1, 1, ((1, (0,), 1),), alike(1, 1, 1), 1
    ),
    World(
        "neighbours",
        "no column at all; neighbour numbers of 9 bits; the weight of a vote is the head's",
        300,
        1,
        (),
        ((1, 0, 0, 300), (1, 1, 0, 300), (1, 2, 0, 77)),
        n_slots=3,
        ids="u32",
        unit=300.0,
        vector_person=False,
    ),
    World(
        "ties",
        "codewords of zeros: scores tie and are listed by number, votes still count; neighbour "
        "numbers of 8 bits; no vector for an empty history",
        130,
        1,
        ((1, (0,), 5),),
        ((0, 0, 0, 130), (1, 0, 0, 60)),
        n_slots=1,
        unit=300.0,
        limits=(0, 1),
        empty=False,
    ),
    World(
        "large",
        "64 blocks, the largest scale, sums near 2^45, gains of 255 and votes of 2^40",
        24,
        64,
        ((64, (0,), 16_300), (1, (63,), 84)),
        alike(24, 2, 2),
        n_slots=2,
        limits=(-128, -126),
        unit=1e9,
        strongest=1e9,
        recency=1e9,
    ),
    World(
        "small",
        "codewords of -1, 0 and 1: many halves to round, equal scores and items of length 0",
        90,
        1,
        ((1, (0,), 1),),
        ((0, 0, 0, 90), (1, 0, 0, 90)),
        n_slots=1,
        limits=(-1, 2),
        unit=1.0,
        recency=0.5,
    ),
    World(
        "many",
        "300 columns of few items: numbers of columns above 255",
        5,
        2,
        ((2, (0,), 1), *((1, (0, 1), 1 + i) for i in range(30))),
        alike(5, 300, 2, every=150),
        n_slots=2,
        again=tuple((1 + i % 30, i % 2, 1 + i % 7) for i in range(239)),
    ),
)
