"""The golden bundles: tiny models made of hashes, so that any machine makes the same bytes."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from elasticrec.stream.catalogue import catalogue
from elasticrec.bundle.material import Material
from elasticrec.bundle.writer import pack
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.ids import Ids
from elasticrec.space.composition import Composition, Menu


class Stream:
    """Endless bytes that follow from a name."""

    def __init__(self, name):
        self.name, self.used = name, 0

    def bytes(self, shape):
        self.used += 1
        content = hashlib.shake_256(f"{self.name} {self.used}".encode())
        return np.frombuffer(content.digest(int(np.prod(shape))), np.uint8).reshape(shape)

    def below(self, limit, shape):
        """Whole numbers from 0 to limit - 1, limit at most 2^32."""
        return (self.bytes((*shape, 4)).copy().view("<u4")[..., 0] % limit).astype(np.int64)

    def between(self, low, high, shape):
        """float64; only operations that every machine rounds alike."""
        return low + self.below(2**16, shape) * ((high - low) / 2**16)


@dataclass(frozen=True)
class Case:
    """One golden bundle."""

    name: str
    teaches: str
    sizes: tuple
    depths: tuple
    """Per group: the depths of its blocks."""
    counts: tuple
    """Per group: its neighbours per item."""
    model: str = ""
    """Whose material it is; its own where empty."""
    ids: str = "none"
    person: str = "vector+history"
    by_root: bool = False
    withdrawn: tuple = ()
    with_map: bool = False
    lists: int = 0
    """Lists of words."""
    titles: bool = False
    zero: bool = False
    """Whether all vectors are 0, so that every score ties."""
    siblings: tuple = field(default=(), repr=False)
    """Compositions of the same model whose rows are on the menu too."""

    @property
    def composition(self):
        return Composition(np.array(self.depths), np.array(self.counts))


def material(case):
    """What the case's model gives to its bundles."""
    draw = Stream(case.model or case.name)
    V, N, G = sum(case.sizes), len(case.depths[0]), len(case.sizes)
    rows = [(*depths, count) for depths, count in zip(case.depths, case.counts, strict=True)]
    rows += [(*d, k) for other in case.siblings for d, k in zip(*other, strict=True)]
    menu = np.array(sorted(set(rows)))
    dense = np.array(sorted({tuple(row[:-1]) for row in rows if any(row[:-1])})).reshape(-1, N)
    ids = item_ids(case.ids, V)
    model_id = hashlib.sha256((case.model or case.name).encode()).hexdigest()
    titles = np.array([f"Title {i} – “{i * i}”" if i % 3 else "" for i in range(V)], dtype=object)
    written = catalogue(Ids.of(range(V) if ids is None else ids), titles, model_id)
    size = 0.0 if case.zero else 1.0
    codes = Codes(
        planes=draw.bytes((N, 8, V)),
        means=(size * draw.between(-0.25, 0.25, (G, 8 * N))).astype(np.float16),
        person=draw.between(-0.5, 0.5, (8 * N,)).astype(np.float16),
        scales=scales(draw, N, case.lists, size),
        steps=steps(draw),
        words=draw.bytes((case.lists, 32, 8 * N)).view(np.int8),
        letters=draw.bytes((256 if case.lists else 0, 8)).view(np.int8),
        rotation=np.eye(8 * N, dtype=np.float32),
        bounds=np.cumsum([0, *case.sizes]),
        rows=dense.astype(np.uint8),
        gains=draw.bytes((len(dense), V)),
        gain_values=(0.25 + np.arange(256) / 96).astype(np.float32),
    )
    return Material(
        codes,
        neighbours(draw, V),
        Mixing(draw.between(0, 1.5, (len(menu), 2)), case.by_root),
        Menu(menu[:, :-1], menu[:, -1]),
        model_id,
        1_700_000_000,
        case.person,
        ids,
        hashlib.sha256(written).digest() if case.titles else None,
        draw.between(-0.5, 0.5, (8 * N, 8 * N)).astype(np.float16) if case.with_map else None,
    ), written


def scales(draw, N, lists, size):
    """(N, 3): whole numbers up to 128 are scaled down to about one."""
    drawn = size * draw.between(0.0625, 0.25, (N, 3))
    drawn[:, :2] /= 64 if lists else 1
    return drawn.astype(np.float32)


def steps(draw):
    """(36,) falling steps, slightly different at each depth."""
    coarse = [0.8, 0.44, 0.242, 0.133, 0.073, 0.04, 0.022, 0.012]
    falling = np.concatenate([coarse[:b] for b in range(1, 9)])
    return (falling + draw.between(0, 0.01, (36,))).astype(np.float32)


def neighbours(draw, V):
    """Lists of 0 to 64; of a large catalogue only some items are anyone's neighbour."""
    pool = np.arange(V) if V < 1000 else np.array([V - 1 - i * (V // 50) for i in range(50)])
    numbers = pool[draw.below(len(pool), (V, 64))]
    weights = -np.sort(-draw.below(16, (V, 64)), axis=1)
    weights[::7, 3:] = 0
    values = np.arange(16) / 12 + (np.arange(16) ** 2) / 256
    return Neighbours(
        np.where(weights, numbers, 0).astype(np.uint32),
        weights.astype(np.uint8),
        values.astype(np.float32),
    )


def item_ids(kind, V):
    """Ids of a kind, in no order."""
    numbers = (np.arange(V, dtype=np.uint64) * 7919 + 13) % 104_729
    if kind == "u32":
        return (numbers * 40_961).astype(np.uint32)
    if kind == "u64":
        return numbers + (numbers % 5) * np.uint64(2**61)
    if kind == "strings":
        shapes = ["item-{}", "ключ {}", "书{}", "🎧{}", "\ufeff{}", "{}"]
        return [shapes[i % len(shapes)].format(n) for i, n in enumerate(numbers)]
    return None


MIXED = (((8, 3, 1), (4, 2, 0), (0, 5, 0), (0, 0, 0), (6, 0, 7), (0, 0, 0)), (4, 1, 0, 64, 8, 0))
BEFORE = (((4, 2, 0), (2, 1, 0), (0, 5, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)), (2, 1, 0, 8, 8, 0))

CASES = (
    Case(
        "dense",
        "codes alone, depths 1 to 8, groups that are no multiple of 8; one list of words for two "
        "blocks",
        (20, 9, 8),
        ((3, 1), (8, 0), (0, 2)),
        (0, 0, 0),
        lists=1,
    ),
    Case(
        "neighbours",
        "neighbours alone: numbers of 9 bits, many equal scores, votes by root, u32 ids, titles",
        (173, 127),
        ((0,), (0,)),
        (16, 3),
        ids="u32",
        person="history",
        by_root=True,
        titles=True,
    ),
    Case(
        "mixed",
        "everything at once: depths 0 to 8, 0 to 64 neighbours, a group that keeps nothing, "
        "u64 ids, a map, withdrawn items, votes by root, two lists of words for three blocks",
        (25, 30, 17, 31, 8, 20),
        *MIXED,
        model="mixed",
        ids="u64",
        by_root=True,
        withdrawn=(0, 3, 60, 81, 130),
        with_map=True,
        lists=2,
        siblings=(BEFORE,),
    ),
    Case(
        "mixed-before",
        "the same model in fewer bytes: where the upgrade starts",
        (25, 30, 17, 31, 8, 20),
        *BEFORE,
        model="mixed",
        ids="u64",
        by_root=True,
        withdrawn=(3, 60),
        with_map=True,
        lists=2,
        siblings=(MIXED,),
    ),
    Case(
        "strings",
        "ids of any Unicode text; withdrawn items; a person by history; no words, signs alone",
        (16, 10),
        ((2,), (1,)),
        (2, 0),
        ids="strings",
        person="history",
        withdrawn=(25,),
    ),
    Case("single", "one item: numbers of one bit", (1,), ((8,),), (1,), ids="strings", lists=1),
    Case(
        "wide",
        "more than 65,536 items: numbers of 17 bits; most items keep nothing",
        (1501, 64_999),
        ((0,), (0,)),
        (3, 0),
    ),
    Case("nothing", "no group keeps anything: every list is empty", (7, 3), ((0,), (0,)), (0, 0)),
    Case(
        "ties",
        "vectors of zeros: equal scores, listed by number",
        (40, 90),
        ((1, 2), (0, 1)),
        (1, 0),
        by_root=True,
        zero=True,
    ),
)


def bundle(case):
    """The bytes of a case, and those of its catalogue."""
    made, written = material(case)
    about = {
        "name": case.name,
        "metric": "recall@50",
        "quality": 0.125,
        "estimate": None,
        "budget": 10**6,
        "elasticrec": "golden",
    }
    return pack(made, case.composition, about=about, withdrawn=case.withdrawn), written
