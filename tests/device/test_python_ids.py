"""Ids in and out of the Python runtime."""

import numpy as np
import pytest

import elasticrec_device
from elasticrec_device import StreamError
from tests.device.python_making import IDS, KINDS, ids_payload, random_stream, seal


def stream_of(kind, seed=3):
    """A stream in which all of 50 items have ids of a kind."""
    made = random_stream(seed, n=50, id_kind=KINDS.index(kind))
    return made, elasticrec_device.open(made.data)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_a_sequence_in_item_order(kind):
    made, stream = stream_of(kind)
    arrived = made.ids if kind == "dense" else made.ids[: len(stream.ids)]
    assert list(stream.ids) == arrived
    assert (stream.ids[0], stream.ids[-1]) == (arrived[0], arrived[-1])
    assert list(stream.ids[2:5]) == arrived[2:5]
    assert arrived[1] in stream.ids
    assert stream.info()["ids"] == kind


@pytest.mark.parametrize("kind", ["u32", "u64", "text"])
def test_any_id_is_found_again_and_no_other(kind):
    made, stream = stream_of(kind)
    foreign = ["", "no such id", "\ud800"] if kind == "text" else [-1, 2**32 - 51, 2**64, 2**70]
    assert not set(foreign) & set(made.ids)
    assert stream.recommend(foreign, k=1).unknown == len(foreign)
    for own in stream.ids:
        assert stream.recommend([own]).unknown == 0
        assert own not in [item.id for item in stream.similar(own, 100)]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        *[("text", each) for each in (5, b"x", None)],
        *[("u32", each) for each in ("5", 5.0, True, None, np.float32(5), np.True_)],
        *[("dense", each) for each in ("5", 5.0, False, [1])],
    ],
)
def test_an_id_of_another_kind_is_an_error_that_says_so(kind, wrong):
    _, stream = stream_of(kind)
    expected = "text" if kind == "text" else "whole numbers"
    for name in ("history", "exclude", "only"):
        with pytest.raises(TypeError, match=f"{name}: found the id .*, expected {expected}$"):
            stream.recommend(**{name: [wrong]})
    with pytest.raises(TypeError):
        stream.similar(wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["abc", b"abc", bytearray(2), memoryview(b"1"), 7, None])
def test_one_value_where_a_list_is_expected_is_an_error_in_one_line(kind, wrong):
    _, stream = stream_of(kind)
    for name in ("history", "exclude", "only")[: 2 if wrong is None else 3]:
        with pytest.raises(TypeError, match=f"^{name}: found .*, expected a list of ids") as error:
            stream.recommend(**{name: wrong})
        assert "\n" not in str(error.value)


def test_ids_may_come_from_numpy_and_from_any_iterable():
    _, stream = stream_of("dense")
    plain = stream.recommend([1, 2], exclude=[7], only=list(range(40)))
    array = np.array([1, 2], dtype=np.uint16)
    assert stream.recommend(iter(array), exclude={7}, only=range(40)) == plain
    assert stream.recommend(array, exclude=(np.int64(7),), only=np.arange(40)) == plain


def test_the_last_mention_of_an_item_counts():
    made = random_stream(72, n=50, id_kind=0, recency=0.5, unit=3000.0)
    with elasticrec_device.open(made.data) as stream:
        mentions = [5, 3, 5, 9, 3]
        assert stream.recommend(mentions, k=100) == stream.recommend([5, 9, 3], k=100)
        assert stream.recommend(mentions, k=100) != stream.recommend([5, 3, 9], k=100)


def test_unknown_ids_are_counted_each_time():
    _, stream = stream_of("dense")
    found = stream.recommend([50, 1, -1, 2, 2**70, 50])
    assert found == stream.recommend([1, 2])
    assert found.unknown == 4
    assert stream.recommend(exclude=[50, 51], only=range(99)).unknown == 0


def test_texts_whose_hashes_are_equal_are_told_apart(monkeypatch):
    monkeypatch.setattr(elasticrec_device, "hash", lambda _: 7, raising=False)
    _, stream = stream_of("text")
    for own in stream.ids:
        assert own not in [item.id for item in stream.similar(own, 100)]
    assert stream.recommend(["no such id"]).unknown == 1


@pytest.mark.parametrize("kind", ["u32", "u64", "text"])
def test_an_id_that_comes_again_later_is_refused(kind):
    for seed in range(20):
        made = random_stream(seed, n=30, id_kind=KINDS.index(kind))
        chunks = [chunk for chunk in made.chunks if chunk.kind == IDS]
        if len(chunks) > 1:
            ids = [*made.ids[chunks[-1].first :][: chunks[-1].count - 1], made.ids[0]]
            chunks[-1].payload = ids_payload(made.head.id_kind, ids)
            made.head.length = made.head.least = 0
            with pytest.raises(StreamError, match="an id twice"):
                elasticrec_device.open(seal(made.head, made.chunks))
