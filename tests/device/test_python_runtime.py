"""What the Python runtime lists, what it leaves out, and that threads may share it."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import elasticrec_device
from elasticrec_device import Recommendation
from tests.bundle.making import random_ids
from tests.device.packing import ids_of, packed


@pytest.fixture
def bundle():
    with elasticrec_device.open(packed()[0]) as opened:
        yield opened


def test_a_list_names_ids_and_falling_scores(bundle):
    found = bundle.recommend([1, 2], k=7)
    assert len(found) == 7
    assert all(isinstance(item, Recommendation) for item in found)
    assert all(isinstance(item.id, int) and isinstance(item.score, float) for item in found)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert found.unknown == 0


def test_without_a_history_a_stored_person_ranks(bundle):
    found = bundle.recommend(k=100)
    assert found == bundle.recommend([], None, 100) == bundle.recommend([12345], k=100)
    assert sorted(ids_of(found)) == list(range(80))  # the last group keeps nothing


def test_history_is_listed_only_if_repeat(bundle):
    history = [1, 40, 90]
    assert set(ids_of(bundle.recommend(history, k=100))) == set(range(80)) - {1, 40}
    assert set(ids_of(bundle.recommend(history, k=100, repeat=True))) == set(range(80))


def test_exclude_and_only_choose_from_the_same_order(bundle):
    whole = ids_of(bundle.recommend([1], k=100))
    assert ids_of(bundle.recommend([1], k=100, exclude=whole[:3])) == whole[3:]
    assert ids_of(bundle.recommend([1], k=100, only=whole[5:9])) == whole[5:9]
    assert ids_of(bundle.recommend([1], k=2, only=whole[5:9], exclude=[whole[5]])) == whole[6:8]
    assert ids_of(bundle.recommend([1], k=100, only=[])) == []
    assert ids_of(bundle.recommend([1], k=100, only=[777])) == []
    assert ids_of(bundle.recommend([1], k=100, exclude=[777])) == whole


@pytest.mark.parametrize("k", [0, 1, 5, 79, 80, 10_000])
def test_every_k_gives_the_head_of_the_whole_list(bundle, k):
    assert bundle.recommend(k=k) == bundle.recommend(k=100)[:k]


def test_a_negative_k_is_refused(bundle):
    with pytest.raises(ValueError, match="0 or more, got -1"):
        bundle.recommend(k=-1)


def test_withdrawn_items_count_in_a_history_and_are_never_listed():
    with elasticrec_device.open(packed()[0]) as plain:
        scores = {item.id: item.score for item in plain.recommend([3, 4], k=100)}
    with elasticrec_device.open(packed(withdrawn=[3, 50])[0]) as bundle:
        found = bundle.recommend([3, 4], k=100)
        assert {item.id: item.score for item in found} == {
            number: score for number, score in scores.items() if number not in (3, 50)
        }
        assert 3 not in ids_of(bundle.recommend([3], k=100, repeat=True, only=[3, 5]))
        assert 50 not in ids_of(bundle.similar(3, k=100))
        assert bundle.info()["withdrawn"] == 2


def test_why_names_an_item_of_the_history(bundle):
    history = list(range(0, 100, 3))
    found = bundle.recommend(history, k=100, why=True)
    assert {item.why for item in found} <= {*history, None}
    assert any(item.why is not None for item in found)
    assert all(item.why is None for item in bundle.recommend(history, k=100))


def test_similar_items_leave_out_the_item_itself(bundle):
    assert 12 not in ids_of(bundle.similar(12, k=100))
    assert len(bundle.similar(12, k=3)) == 3
    with pytest.raises(LookupError, match="item 100: expected one of the bundle's 100 items"):
        bundle.similar(100)


def test_info_tells_what_the_writer_said(bundle):
    info = bundle.info()
    assert (info["items"], info["groups"], info["blocks"], info["ids"]) == (100, 3, 2, "dense")
    assert info["meta"]["name"] == "a test"
    assert info["model_id"] == packed()[1]
    assert info["person"] == "vector+history"
    assert list(info["sections"])[:3] == ["SHAPE", "META", "GROUPS"]
    assert json.loads(json.dumps(info)) == info


@pytest.mark.parametrize("kind", ["none", "strings"])
def test_threads_get_the_answers_that_one_gets(kind):
    ids = random_ids(np.random.default_rng(3), kind, 100)
    own = ids or list(range(100))
    data = packed(ids=ids)[0]
    histories = [own[i : i + 5] for i in range(0, 95, 3)]
    alone = elasticrec_device.open(data)
    expected = [alone.recommend(history, k=30, why=True) for history in histories]
    shared, wrong = elasticrec_device.open(data), []
    start = threading.Barrier(8)

    def ask(offset: int) -> None:
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
