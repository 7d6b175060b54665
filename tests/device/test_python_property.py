"""The Python runtime against the slow reader of the format page, on bundles of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elasticrec_device
from elasticrec.stream.person import vector_bytes
from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Composition
from tests.bundle.making import random_ids, random_material
from tests.bundle.reference import Reference

KINDS = ("none", "u32", "u64", "strings")


@st.composite
def bundles(draw):
    """A random bundle, its ids, and a person's vector for it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_blocks = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    V, D, kind = sum(sizes), 8 * n_blocks, draw(st.sampled_from(KINDS))
    fold_map = rng.normal(0, 0.3, (D, D)).astype(np.float16) if draw(st.booleans()) else None
    beside = {"ids": random_ids(rng, kind, V), "fold_map": fold_map}
    material = random_material(rng, sizes, n_blocks, **beside)
    rows = rng.integers(0, material.menu.n_rows, len(sizes))
    composition = Composition(material.menu.depths[rows], material.menu.neighbours[rows])
    withdrawn = np.flatnonzero(rng.random(V) < draw(st.sampled_from([0, 0.1])))
    ids = material.ids if material.ids is not None else range(V)
    own = [each if isinstance(each, str) else int(each) for each in ids]
    vector = vector_bytes(rng.normal(0, 1, D).astype(np.float32), material.model_id)
    return pack(material, composition, about={}, withdrawn=withdrawn), own, vector


def same(found, expected):
    """Nothing, or an error where a list is not the slow reader's, bit by bit."""
    items, scores, why = expected[:3]
    assert [str(item.id) for item in found] == items
    assert [bits(item.score) for item in found] == [bits(score) for score in scores]
    assert [None if item.why is None else str(item.why) for item in found] == why


def bits(score):
    return np.float32(score).tobytes()


def questions(data, own):
    """Arguments of some question."""
    several = st.lists(st.sampled_from(own), max_size=8)
    return {
        "history": data.draw(several),
        "k": data.draw(st.sampled_from([1, 3, 20, 1000])),
        "exclude": data.draw(several),
        "only": data.draw(st.none() | st.lists(st.sampled_from(own), max_size=60)),
        "repeat": data.draw(st.booleans()),
    }


def texts(asked):
    """The same question with ids as text, as the slow reader takes them."""
    named = {name: asked[name] for name in ("history", "exclude", "only")}
    turned = {name: ids and [str(each) for each in ids] for name, ids in named.items()}
    return asked | turned


@pytest.mark.parametrize("stretch", [3, 8, 16_384])
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.data_too_large])
@given(made=bundles(), data=st.data())
def test_answers_are_the_slow_readers_bit_by_bit(stretch, made, data):
    """Also where stretches of items are tiny, so that many borders are crossed."""
    file, own, vector = made
    asked, with_vector = questions(data, own), data.draw(st.booleans())
    reader = Reference(file)
    user = reader.read_vector(vector) if with_vector else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elasticrec_device, "STRETCH", stretch)
        patch.setattr(elasticrec_device, "LOOKUPS", min(64 * stretch, 65_536))
        with elasticrec_device.open(file) as bundle:
            found = bundle.recommend(**asked, user=vector if with_vector else None, why=True)
            nearest = bundle.similar(own[0], 20)
    same(found, reader.recommend(**texts(asked), user=user))
    items, scores = reader.similar(str(own[0]), 20)
    assert [str(item.id) for item in nearest] == items
    assert [bits(item.score) for item in nearest] == [bits(score) for score in scores]


@settings(deadline=None, max_examples=20)
@given(
    scores=st.lists(st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.0]), min_size=1, max_size=60),
    k=st.integers(0, 70),
    stretch=st.integers(1, 20),
)
def test_equal_scores_are_listed_by_rising_number(scores, k, stretch):
    """-0 equals 0, whatever the stretches."""
    array = np.array(scores, dtype=np.float32)

    class Told(elasticrec_device._Scorer):
        def __init__(self):
            self.file = type("Empty", (), {"withdrawn": np.empty(0, dtype=np.int64)})

        def stretches(self):
            for start in range(0, len(array), stretch):
                yield start, array[start : start + stretch].copy()

    _, numbers = Told().best(k, np.empty(0, dtype=np.int64), None)
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
    assert numbers.tolist() == expected
