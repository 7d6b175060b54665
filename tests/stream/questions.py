"""The questions to the golden streams, and the answers of the slow reader."""

import hashlib

import numpy as np

from elasticrec.stream.chunk import index_of
from elasticrec.stream.side_files import public_bytes, vector_bytes
from tests.stream.golden import KEY, Stream
from tests.stream.reference import Reference
from tests.stream.worlds import WORLDS


def vectors():
    """Person's vector files: name → bytes. The last one is of a model without a stream."""
    files = {}
    for name, n_blocks in [(w.name, w.n_blocks) for w in WORLDS if w.vector_person] + [
        ("foreign", WORLDS[0].n_blocks)
    ]:
        numbers = Stream(f"{name} person").between(-1, 1, (8 * n_blocks,))
        length = np.sqrt(float((numbers * numbers).sum()))
        model_id = hashlib.sha256(name.encode()).hexdigest()
        files[f"{name}.vector"] = vector_bytes(numbers / length, model_id)
    return files


def cuts(data):
    """Lengths at which a stream is asked: the least, some inside a chunk, and almost all."""
    index = index_of(data, len(data))
    middle = index.ends[len(index.ends) // 2]
    found = {index.head.least, middle, middle + 40, (index.head.least + len(data)) // 2}
    return sorted(at for at in found | {len(data) - 1} if index.head.least <= at < len(data))


def answers(world, data, files):
    """Every question to one stream with its answer, ready for JSON; ids are text."""
    whole = Reader(world, data, None, files)
    draw = Stream(f"{world.name} questions")
    few, many = ([whole.id_of(i) for i in history(whole, draw, n)] for n in (3, 12))
    unknown = [one for one in ("4294967290", "9", "no such id") if whole.number_of(one) is None]
    if world.ids != "text":
        unknown.remove("no such id")
    first = whole.recommend(k=12)[0]
    everything = [whole.id_of(i) for i in range(len(whole.file.ids) or world.n_items)]
    asked = [
        {},
        {"history": few[:1]},
        {"history": few},
        {"history": few[::-1]},
        {"history": [*many, *unknown, *many[:2], *unknown], "k": 100},
        {"history": unknown, "k": 3},
        {"history": few, "repeat": True, "k": 10},
        {"history": few, "exclude": [*first[:5], *unknown], "k": 10},
        {"history": many, "only": [*everything[1::3][:50], *unknown], "k": 10},
        {"history": [], "only": [], "k": 10},
        {"history": few, "diversity": 0.3, "k": 5},
        {"history": many, "diversity": 1.0, "k": 9},
        {"diversity": 0.7, "k": 2},
    ]
    if world.withdrawn is not None:
        name = f"{world.name}.withdrawn"
        listed = [everything[i] for i in world.withdrawn]
        asked += [{"withdrawn": name, "history": few}, {"withdrawn": name, "history": listed}]
    vector = f"{world.name}.vector"
    if vector in files:
        asked += [
            {"vector": vector},
            {"vector": vector, "history": many, "k": 30},
            {"vector": vector, "history": few[:1], "repeat": True, "k": 5},
        ]
    found = [whole.answer(one) for one in asked]
    for cut in cuts(data):
        prefix = Reader(world, data, cut, files)
        found += [prefix.answer(one) for one in ({"k": 5}, {"history": many, "k": 15})]
    return found


class Reader(Reference):
    """The slow reader of the first bytes of one world's stream."""

    def __init__(self, world, data, n_bytes, files):
        self.world, self.n_bytes, self.files = world, n_bytes, files
        super().__init__(data[:n_bytes], key=public_bytes(KEY) if world.signed else None)

    def answer(self, question):
        """A question in full with its answer."""
        full = {
            "stream": f"{self.world.name}.elastic",
            "bytes": self.n_bytes,
            "history": [],
            "vector": None,
            "withdrawn": None,
            "k": 20,
            "exclude": [],
            "only": None,
            "repeat": False,
            "diversity": 0.0,
        } | question
        vector, listed = full["vector"], full["withdrawn"]
        given = None if vector is None else self.read_vector(self.files[vector])
        self.withdrawn = set() if listed is None else self.read_withdrawn(self.files[listed])
        options = {name: full[name] for name in ("k", "exclude", "only", "repeat", "diversity")}
        items, scores, why, unknown = self.recommend(full["history"], given, **options)
        return full | {"items": items, "scores": scores, "why": why, "unknown": unknown}


def history(reader, draw, n):
    """Some items, among them such as are neighbours of others."""
    voters = sorted({number for slots in reader.file.slots for number, vote in slots if vote})
    drawn = draw.below(reader.file.V, (n,)).tolist()
    if voters:
        drawn[::2] = [voters[i % len(voters)] for i in draw.below(2**31, (len(drawn[::2]),))]
    return [i for i in drawn if not reader.file.id_kind or i < len(reader.file.ids)]
