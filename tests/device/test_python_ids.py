"""Original ids in and out of the Python runtime."""

from __future__ import annotations

import numpy as np
import pytest

import elasticrec_device
from elasticrec.bundle.header import Kind
from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Composition, Menu
from tests.bundle.damage import Draft
from tests.bundle.making import random_ids, random_material
from tests.device.packing import packed


@pytest.fixture
def bundle():
    with elasticrec_device.open(packed()[0]) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["u32", "u64", "strings"])
def test_original_ids_come_in_and_out(kind):
    ids = random_ids(np.random.default_rng(3), kind, 100)
    plain = elasticrec_device.open(packed()[0]).recommend([1, 2, 70], k=50, why=True)
    with elasticrec_device.open(packed(ids=ids)[0]) as bundle:
        own = [each if kind == "strings" else int(each) for each in ids]
        found = bundle.recommend([own[70], own[1], own[2], own[1]], k=50, why=True)
        named = [
            (own[i], score, None, None if why is None else own[why]) for i, score, _, why in plain
        ]
        assert [tuple(item) for item in found] == named
        foreign = ["", "no such id", "\ud800"] if kind == "strings" else [-1, 2**32 + 5, 2**64]
        assert bundle.recommend([own[1], *foreign]).unknown == 3
        assert bundle.similar(own[5], 1)[0].id in own
        assert bundle.info()["ids"] == kind


@pytest.mark.parametrize(
    ("kind", "wrong"), [("strings", 5), ("u32", "5"), ("u32", 5.0), ("none", "5")]
)
def test_ids_of_a_wrong_type_are_refused_by_name(kind, wrong):
    ids = random_ids(np.random.default_rng(3), kind, 100)
    with elasticrec_device.open(packed(ids=ids)[0]) as bundle:
        with pytest.raises(TypeError):
            bundle.recommend([wrong])
        with pytest.raises(TypeError):
            bundle.recommend(exclude=[wrong])


def test_ids_whose_hashes_collide_are_told_apart(monkeypatch):
    ids = random_ids(np.random.default_rng(3), "strings", 100)
    monkeypatch.setattr(elasticrec_device, "hash", lambda _: 1 << 40, raising=False)
    with elasticrec_device.open(packed(ids=ids)[0]) as bundle:
        numbers, unknown = bundle.ids.find([*ids, "no such id"])
        assert numbers.tolist() == list(range(100))
        assert unknown == 1


def test_ids_may_come_from_numpy_and_from_any_iterable(bundle):
    plain = bundle.recommend([1, 2], exclude=[7], only=list(range(40)))
    array = np.array([1, 2], dtype=np.uint16)
    assert bundle.recommend(iter(array), exclude={7}, only=range(40)) == plain
    assert bundle.recommend(array, exclude=(np.int64(7),), only=np.arange(40)) == plain


def test_unknown_ids_are_skipped_and_counted_each_time(bundle):
    plain = bundle.recommend([1, 2])
    found = bundle.recommend([100, 1, -1, 2, 2**70, 100])
    assert found == plain
    assert found.unknown == 4


def test_duplicates_count_once_and_order_does_not_matter(bundle):
    assert bundle.recommend([5, 3, 5, 5, 9]) == bundle.recommend([3, 5, 9])


def test_offsets_past_the_text_are_refused_wherever_they_stand():
    V = 20_000  # more than are checked at a time
    rng = np.random.default_rng(0)
    ids = [f"item {number}" for number in range(V)]
    material = random_material(rng, (V,), 1, menu=Menu(np.array([[1]]), np.array([0])), ids=ids)
    draft = Draft(pack(material, Composition(np.array([[1]]), np.array([0])), about={}))
    for number in (16_384, 16_385, 19_000):
        bad = Draft(draft.file())
        for place in range(number, V):  # still rising, but beyond the end
            bad.pack(Kind.IDS, "I", 4 * place, 2**31 + place)
        with pytest.raises(elasticrec_device.BundleError, match="an offset of IDS"):
            elasticrec_device.open(bad.file())
