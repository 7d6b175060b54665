"""Distinct rows, the place of each number, whole tables; rows of norm 1 against autograd's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from elasticrec.training.rows import Leaves, ascending, take, unit


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


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), scale=st.sampled_from([1e-3, 1.0, 1e4]))
def test_values_and_gradient_are_those_of_normalize(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    rows = (torch.randn(5, 3, generator=generator) * scale).requires_grad_()
    weights = torch.randn(5, 3, generator=generator)
    found, wanted = unit(rows), normalize(rows, dim=1)
    torch.testing.assert_close(found, wanted)
    grads = [torch.autograd.grad((x * weights).sum(), rows)[0] for x in (found, wanted)]
    torch.testing.assert_close(grads[0], grads[1], atol=1e-4 / scale, rtol=1e-4)


def test_a_row_of_zeros_stays_and_has_no_gradient():
    rows = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    found = unit(rows)
    assert found.tolist() == [[0, 0], [0.6000000238418579, 0.800000011920929]]
    (grad,) = torch.autograd.grad(found.sum(), rows)
    assert grad[0].tolist() == [0, 0]
    assert torch.isfinite(grad).all()
