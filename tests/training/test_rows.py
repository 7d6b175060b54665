"""Distinct rows and their places; rows of norm 1 against autograd's own; Adam against torch's."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from elasticrec.training import rows as rows_module
from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import Leaves, RowAdam, ascending, learning_rate, take, unit


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


def draw(seed, **shapes):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(*shape, generator=generator) for name, shape in shapes.items()}


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    n_touched=st.integers(1, 7),
    at_once=st.sampled_from([1, 3, 1024]),
)
def test_touched_rows_move_as_adam_moves_them_alone(seed, n_touched, at_once):
    """The same rows at every step are a table of their own to torch's Adam."""
    tables = draw(seed, users=(7, 3))
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(7, generator=generator)[:n_touched].sort().values
    before = tables["users"].clone()
    copy = torch.nn.Parameter(before[rows].clone())
    config = TrainConfig(betas=(0.8, 0.95), epsilon=1e-3)
    reference = torch.optim.Adam([copy], betas=config.betas, eps=config.epsilon)
    ours = RowAdam(tables, config)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rows_module, "_AT_ONCE", at_once)
        for step in range(8):
            grad = draw(seed + step + 1, g=(n_touched, 3))["g"]
            reference.param_groups[0]["lr"] = rate = 0.1 / (step + 1)
            copy.grad = grad.clone()
            reference.step()
            ours.step({"users": grad}, {"users": rows}, rate)
    torch.testing.assert_close(tables["users"][rows], copy.detach(), atol=1e-5, rtol=1e-5)
    idle = [row for row in range(7) if row not in rows.tolist()]
    assert torch.equal(tables["users"][idle], before[idle])
    assert not ours.first["users"][idle].any()
    assert ours.steps == 8


def test_a_whole_table_moves_like_all_of_its_rows():
    one, two = draw(0, items=(4, 3)), draw(0, items=(4, 3))
    grad = torch.randn(3, 4, generator=torch.Generator().manual_seed(5)).T  # stored by columns
    RowAdam(one, TrainConfig()).step({"items": grad}, {}, 0.1)
    RowAdam(two, TrainConfig()).step({"items": grad.contiguous()}, {"items": torch.arange(4)}, 0.1)
    assert torch.equal(one["items"], two["items"])


def test_restored_it_goes_on_as_if_never_stopped():
    def run(steps, ours):
        for step in steps:
            grad = draw(step + 1, g=(2, 2))["g"]
            ours.step({"items": grad}, {"items": torch.tensor([step % 3, 3])}, 0.1)

    tables = draw(0, items=(4, 2))
    whole = RowAdam(tables, TrainConfig())
    run(range(6), whole)
    first = RowAdam(draw(0, items=(4, 2)), TrainConfig())
    run(range(3), first)
    again = RowAdam({"items": first.tables["items"].clone()}, TrainConfig())
    for name, moment in again.state().items():
        moment.copy_(first.state()[name])
    again.steps = first.steps
    run(range(3, 6), again)
    assert torch.equal(again.tables["items"], tables["items"])


def test_a_table_stored_by_columns_is_refused():
    with pytest.raises(ValueError, match="'items' is not stored row by row"):
        RowAdam({"items": torch.randn(3, 4).T}, TrainConfig())


def test_the_cosine_schedule_falls_from_the_rate_towards_zero():
    config = TrainConfig()
    rates = [learning_rate(config, step, 100) for step in range(100)]
    assert rates[0] == config.learning_rate
    assert rates[50] == pytest.approx(config.learning_rate / 2)
    assert all(a > b > 0 for a, b in itertools.pairwise(rates))
    constant = replace(config, schedule="constant")
    assert learning_rate(constant, 99, 100) == config.learning_rate
