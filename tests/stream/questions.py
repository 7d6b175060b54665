"""What the golden bundles are asked: persons, options, and the answers of the slow reader."""

import hashlib
import struct

import numpy as np

from elasticrec.stream.person import vector_bytes
from tests.bundle.golden import CASES, Stream
from tests.bundle.reference import Reference


def vectors():
    """Person's vector files: name → bytes. The last one is of a model that has no bundle."""
    files = {}
    for case in (*CASES, None):
        if case is not None and (case.person == "history" or case.model not in ("", case.name)):
            continue
        name = "foreign" if case is None else case.name
        D = 8 * len((case or CASES[0]).depths[0])
        numbers = Stream(f"{name} person").between(-1, 1, (D,))
        length = np.sqrt(float((numbers * numbers).sum()))
        files[f"{name}.vector"] = vector_bytes(numbers / length, model_of(name))
    return files


def model_of(name):
    """The model id of a golden model."""
    return hashlib.sha256(name.encode()).hexdigest()


def answers(case, file, files):
    """Every question to one bundle with its answer, ready for JSON; ids are text."""
    reader = Reference(file)
    draw = Stream(f"{case.name} questions")
    few = [reader.ids[i] for i in history(reader, draw, 3)]
    many = [reader.ids[i] for i in history(reader, draw, 12)]
    unknown = ["4294967290", "9"] if case.ids != "none" else ["4294967290", "99999999"]
    unknown = [text for text in unknown if text not in reader.number_of]
    first = reader.recommend(k=12)[0]
    asked = [
        {},
        {"history": few[:1]},
        {"history": few},
        {"history": [*many, *unknown, *many[:2], *unknown], "k": 40},
        {"history": unknown, "k": 3},
        {"history": few, "repeat": True, "k": 10},
        {"history": few, "exclude": [*first[:5], *unknown], "k": 10},
        {"history": many, "only": [*reader.ids[1::3][:50], *unknown], "k": 10},
        {"history": [], "only": [], "k": 10},
    ]
    vector = f"{case.model or case.name}.vector"
    if vector in files:
        asked += [
            {"vector": vector},
            {"vector": vector, "history": many, "k": 40},
            {"vector": vector, "history": few[:1], "repeat": True, "k": 5},
        ]
    return [answer(reader, one, files) for one in asked] + [
        alike(reader, item, k) for item, k in ((few[0], 20), (many[-1], 5), (reader.ids[-1], 5))
    ]


def history(reader, draw, n):
    """Some items, among them such as are neighbours of others."""
    voters = sorted({number for slots in reader.slots.values() for number, w in slots if w})
    drawn = draw.below(reader.V, (n,)).tolist()
    if voters:
        drawn[::2] = [voters[i % len(voters)] for i in draw.below(2**31, (len(drawn[::2]),))]
    return drawn


def answer(reader, question, files):
    full = {"history": [], "vector": None, "k": 100, "exclude": [], "only": None, "repeat": False}
    full |= question
    user = None if full["vector"] is None else reader.read_vector(files[full["vector"]])
    options = {name: full[name] for name in ("k", "exclude", "only", "repeat")}
    items, scores, why, unknown = reader.recommend(full["history"], user, **options)
    found = {"items": items, "scores": bits(scores), "why": why, "unknown": unknown}
    return {"ask": "recommend", **full, **found}


def alike(reader, item, k):
    items, scores = reader.similar(item, k)
    return {"ask": "similar", "item": item, "k": k, "items": items, "scores": bits(scores)}


def bits(scores):
    """Each float32 as the eight hexadecimal digits of its bits."""
    return [struct.pack(">f", score).hex() for score in scores]
