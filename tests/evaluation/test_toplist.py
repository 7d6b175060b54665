"""The batched list of best items against a plain sort, ties above all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.toplist import top_items, varied
from tests.twins import top_list

torch = pytest.importorskip("torch")


def test_one_list_known_answer() -> None:
    scores = np.array([1.0, 3.0, 3.0, 2.0, -np.inf])
    assert top_list(scores, 3).tolist() == [1, 2, 3]
    assert top_list(scores, 3, seen=np.array([2])).tolist() == [1, 3, 0]
    assert top_list(scores, 9).tolist() == [1, 2, 3, 0]
    assert top_list(scores, 2, seen=np.arange(5)).tolist() == []
    assert scores.tolist() == [1.0, 3.0, 3.0, 2.0, -np.inf]


def test_batch_known_answer() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    seen = Pairs.from_arrays(np.array([0, 1]), np.array([1, 0]), n_users=2, n_items=4)
    listed = top_items(scores, 2, seen)
    assert listed.items.tolist() == [[2, 3], [1, 2]]
    assert listed.scores.tolist() == [[3.0, 2.0], [0.0, 0.0]]


def test_what_may_not_be_shown_is_not_listed() -> None:
    scores = torch.tensor([[1.0, 3.0, -np.inf], [0.0, 1.0, 2.0]])
    seen = Pairs.from_arrays(np.array([0, 1, 1, 1]), np.array([1, 0, 1, 2]), n_users=2, n_items=3)
    listed = top_items(scores, 7, seen)
    assert listed.items.tolist() == [[0, -1, -1], [-1, -1, -1]]
    assert listed.scores.tolist() == [[1.0, -np.inf, -np.inf], [-np.inf] * 3]


def test_ties_across_the_last_place_go_to_the_lowest_index() -> None:
    """2,000 equal scores: a partial selection alone would return any of them."""
    scores = torch.zeros(300, 2000)
    scores[:, 1999] = 1.0
    listed = top_items(scores, 4).items
    assert (listed == torch.tensor([1999, 0, 1, 2])).all()


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_batch_equals_plain_sort(data) -> None:
    n_users, n_items = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 40))
    k = data.draw(st.integers(1, 45))
    kept = arrays(np.float32, (n_users, n_items), elements=st.sampled_from([-1, -0.0, 0, 1, 2]))
    scores = data.draw(kept)  # few distinct values, so nearly every list has ties
    hidden = data.draw(arrays(bool, (n_users, n_items)))
    seen = Pairs.from_arrays(*np.nonzero(hidden), n_users=n_users, n_items=n_items)
    expected = [top_list(scores[u], k, seen.of(u)).tolist() for u in range(n_users)]
    found = top_items(torch.from_numpy(scores.copy()), k, seen).items
    assert found.shape == (n_users, min(k, n_items))
    assert [[i for i in row if i >= 0] for row in found.tolist()] == expected


def test_a_varied_list_takes_turns_between_two_kinds():
    vectors = np.array([[3, 0], [5, 0], [1, 0], [0, 2], [0, 9], [0, 0]])
    scores = np.array([10.0, 9.0, 8.0, 7.0, 6.0, 0.0])
    assert varied(scores, vectors, 6, 0.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert varied(scores, vectors, 3, 0.5).tolist() == [0, 3, 5]  # a zero vector is like no other
    assert varied(scores, vectors, 4, 0.2).tolist() == [0, 3, 1, 2]
    assert varied(scores[:0], vectors[:0], 4, 0.5).tolist() == []
    assert varied(np.ones(3), vectors[[0, 1, 3]], 2, 0.5).tolist() == [0, 2]
