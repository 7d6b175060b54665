"""Leaves: distinct rows, the place of each number, and whole tables."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.training.rows import Leaves, ascending, take


@settings(deadline=None, max_examples=40)
@given(numbers=st.lists(st.integers(0, 19), min_size=1, max_size=40))
def test_rows_are_distinct_and_places_lead_back_to_the_numbers(numbers):
    table = torch.arange(40.0).view(20, 2)
    leaves = Leaves({"items": table})
    rows, places = leaves.rows("items", torch.tensor(numbers))
    if len(numbers) < 20:
        assert leaves.touched["items"].tolist() == sorted(set(numbers))
    else:  # taken whole
        assert leaves.touched == {}
        assert len(rows) == 20
    torch.testing.assert_close(rows[places].detach(), table[numbers])
    assert torch.equal(leaves.places("items", torch.tensor(numbers)), places)
    assert rows.requires_grad
    assert not table.requires_grad


def test_a_whole_table_is_not_copied_and_its_numbers_are_its_places():
    table = torch.randn(4, 2)
    leaves = Leaves({"items": table})
    assert leaves.whole("items").data_ptr() == table.data_ptr()
    assert leaves.touched == {}
    assert leaves.places("items", torch.tensor([3, 1])).tolist() == [3, 1]


def test_a_table_is_given_once():
    leaves = Leaves({"items": torch.randn(4, 2)})
    leaves.rows("items", torch.tensor([0]))
    with pytest.raises(ValueError, match="'items' was asked for twice"):
        leaves.whole("items")


def test_rows_are_taken_part_by_part():
    rows = torch.arange(6.0).view(3, 2)
    one, none, two = take(rows, [torch.tensor([2]), torch.tensor([], dtype=int), torch.tensor([0])])
    assert (one.tolist(), none.tolist(), two.tolist()) == ([[4, 5]], [], [[0, 1]])


def test_ascending_leaves_its_argument_alone():
    numbers = torch.tensor([3, 1, 2, 1])
    assert ascending(numbers).tolist() == [1, 1, 2, 3]
    assert numbers.tolist() == [3, 1, 2, 1]
