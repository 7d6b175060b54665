"""The options of the Python runtime's lists."""

import threading

import numpy as np
import pytest

import elasticrec_device
from tests.device.python_making import random_stream, vector_file, withdrawn_file

MADE = random_stream(72, n=50, id_kind=0, recency=0.5, unit=3000.0, weights=(0.5, 0.25))
"""A stream whose 50 items have columns, slots or both."""


@pytest.fixture(name="stream", scope="module")
def open_stream():
    with elasticrec_device.open(MADE.data) as opened:
        yield opened


def ids_of(found):
    return [item.id for item in found]


def test_the_best_come_first_and_equal_ones_by_number(stream):
    found = stream.recommend([1, 2], k=100)
    assert len(found) == stream.info()["listable"] - 2 == 48
    order = [(-item.score, item.id) for item in found]
    assert order == sorted(order)
    assert all(isinstance(item.score, int) and item.title is None for item in found)


@pytest.mark.parametrize("k", [0, 1, 5, np.int64(7), 10_000])
def test_every_k_gives_the_first_of_the_whole_list(stream, k):
    assert stream.recommend([3], k=k) == stream.recommend([3], k=100)[:k]


@pytest.mark.parametrize("k", ["5", 5.0, -1, True, None])
def test_a_k_that_is_no_count_is_refused(stream, k):
    for ask in (stream.recommend, lambda k: stream.similar(1, k)):
        with pytest.raises(TypeError, match=r"k: found .*, expected a whole number, 0 or more"):
            ask(k=k)


def test_an_option_that_does_not_exist_is_refused(stream):
    for name in ("user", "n", "filter"):
        with pytest.raises(TypeError, match=name):
            stream.recommend(**{name: 1})


def test_exclude_and_only_choose_from_the_same_order(stream):
    whole = ids_of(stream.recommend([1], k=100))
    assert ids_of(stream.recommend([1], k=100, exclude=whole[:3])) == whole[3:]
    assert ids_of(stream.recommend([1], k=100, only=whole[5:9])) == whole[5:9]
    assert ids_of(stream.recommend([1], k=2, only=whole[5:9], exclude=[whole[5]])) == whole[6:8]
    assert ids_of(stream.recommend([1], only=[])) == []
    assert ids_of(stream.recommend([1], only=[777])) == []


@pytest.mark.parametrize("diversity", [-0.1, 1.1, float("nan")])
def test_a_diversity_is_from_0_to_1(stream, diversity):
    with pytest.raises(TypeError, match=r"diversity: found .*, expected a number from 0 to 1"):
        stream.recommend(diversity=diversity)


def test_the_history_is_listed_only_if_it_may_repeat(stream):
    whole = ids_of(stream.recommend(k=100))
    without, repeat = (stream.recommend(whole[:2], k=100, repeat=each) for each in (False, True))
    assert set(ids_of(without)) == set(whole[2:])
    assert set(ids_of(repeat)) == set(whole)
    assert [item for item in repeat if item.id not in whole[:2]] == without


def test_a_history_is_in_time_order(stream):
    assert stream.recommend([1, 2, 3], k=100) != stream.recommend([3, 2, 1], k=100)


def test_why_names_an_item_of_the_history_if_asked(stream):
    history = list(range(0, 50, 3))
    found = stream.recommend(history, k=100, why=True)
    assert {item.why for item in found} <= {*history, None}
    assert any(item.why is not None for item in found)
    assert {item.why for item in stream.recommend(history, k=100)} == {None}


def test_similar_items_are_the_list_of_one_item(stream):
    item = stream.recommend(k=1)[0].id
    assert stream.similar(item, 9) == stream.recommend([item], k=9)
    with pytest.raises(LookupError, match="item: found 50, expected one of 50 ids"):
        stream.similar(50)


def test_withdrawn_items_count_in_a_history_and_are_never_listed():
    with elasticrec_device.open(MADE.data) as stream:
        plain = stream.recommend([3, 4], k=100, repeat=True)
        stream.withdraw(withdrawn_file([3, 20]))
        left = [item for item in plain if item.id not in (3, 20)]
        assert stream.recommend([3, 4], k=100, repeat=True) == left
        assert stream.recommend([3, 4], only=[3, 20], repeat=True) == []
        assert stream.refresh(MADE.data) == len(MADE.data)
        assert stream.recommend([3, 4], k=100, repeat=True) == left
        stream.withdraw(withdrawn_file([]))
        assert stream.recommend([3, 4], k=100, repeat=True) == plain


def test_a_vector_counts_beside_the_history(stream):
    vector = vector_file(np.linspace(-1, 1, 8 * MADE.head.N))
    lists = [
        ids_of(stream.recommend(history, vector=file, k=100))
        for history in ([], [1, 2])
        for file in (None, vector)
    ]
    assert len({tuple(each) for each in lists}) == 4


def test_info_says_what_has_arrived(stream):
    about = stream.info()
    listed = [(each["columns"], each["slots"]) for each in about["levels"]]
    assert listed == sorted(listed, reverse=True)
    assert sum(each["items"] for each in about["levels"]) == about["listable"]
    assert (about["items"], about["sequence"], about["min_support"]) == (50, 7, 5)
    assert (about["complete"], about["fraction"]) == (True, 1.0)
    assert about["trained"] == "2026-01-02T00:00:00Z"
    assert about["model_id"] == bytes(range(32)).hex()


def test_threads_get_the_answers_that_one_gets():
    made = random_stream(11, n=50, id_kind=3)
    histories = [made.ids[i : i + 5] for i in range(0, 45, 3)]
    alone = elasticrec_device.open(made.data)
    expected = [alone.recommend(history, k=30, why=True) for history in histories]
    shared, wrong, start = elasticrec_device.open(made.data), [], threading.Barrier(8)

    def ask(offset):
        start.wait()
        for i in range(len(histories)):
            at = (i + 4 * offset) % len(histories)
            if shared.recommend(histories[at], k=30, why=True) != expected[at]:
                wrong.append(at)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_closed_stream_says_so():
    with elasticrec_device.open(random_stream(1).data) as stream:
        pass
    with pytest.raises(AttributeError, match="the stream is closed"):
        stream.recommend()
