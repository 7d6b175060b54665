"""The shapes of the golden streams: one small world for each thing that a reader can get wrong."""

import hashlib
from dataclasses import dataclass

from tests.stream.making import alike


@dataclass(frozen=True)
class World:
    """One golden stream."""

    name: str
    teaches: str
    n_items: int
    n_blocks: int
    stages: tuple
    """(width, first blocks, scale) of each codebook and its columns."""
    climbs: tuple
    n_slots: int = 0
    least_climbs: int = 1
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
    gains: tuple = (8_192, 32_768)
    """Range of the gains of columns, in no order."""
    strongest: float = 0.0005
    """Vote weights lie between 0 and this."""
    empty: bool = True
    """The vector of a person with an empty history is not all 0."""

    @property
    def model_id(self):
        return hashlib.sha256(self.name.encode()).hexdigest()


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
        least_climbs=2,
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
        ((0, 0, 0, 8765), *((1, slot, 8001, 1207) for slot in range(20)), (1, 0, 0, 301)),
        n_slots=20,
        least_climbs=20,
    ),
    World(
        "single",
        "one item; neighbour numbers of one bit; the smallest gain",
        1,
        1,
        ((1, (0,), 1),),
        alike(1, 1, 1),
        n_slots=1,
        unit=600_000_000.0,
        gains=(1, 1),
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
        "64 blocks, the largest scale and gain, sums near 2^45, factors of 255 and votes of 2^40",
        24,
        64,
        ((64, (0,), 16_300), (1, (63,), 84)),
        alike(24, 2, 2),
        n_slots=2,
        limits=(-128, -126),
        unit=1e9,
        gains=(32_768, 32_768),
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
        gains=(16_384, 16_384),
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
