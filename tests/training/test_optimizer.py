"""Row by row or whole, the step is Adam's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.training import optimizer
from elasticrec.training.optimizer import RowAdam, distinct, summed


def adam(tables, **options):
    """torch's own Adam on copies of the tables."""
    copies = {name: torch.nn.Parameter(table.clone()) for name, table in tables.items()}
    return copies, torch.optim.Adam(copies.values(), betas=(0.9, 0.999), eps=1e-8, **options)


def draw(seed, **shapes):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(*shape, generator=generator) for name, shape in shapes.items()}


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    whole=st.booleans(),
    share=st.sampled_from([0, 1 << 40]),
    at_once=st.sampled_from([1, 3, 1024]),
)
def test_a_step_that_touches_every_row_is_adams(seed, whole, share, at_once):
    tables = draw(seed, users=(7, 3), items=(5, 3))
    copies, reference = adam(tables)
    ours = RowAdam(tables)
    generator = torch.Generator().manual_seed(seed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(optimizer, "_SHARE", share)  # rows, or whole tables
        patched.setattr(optimizer, "_AT_ONCE", at_once)
        for step in range(8):
            grads = draw(seed + step + 1, users=(7, 3), items=(5, 3))
            rate = 0.1 / (step + 1)
            reference.param_groups[0]["lr"] = rate
            for name, copy in copies.items():
                copy.grad = grads[name].clone()
            reference.step()
            orders = {n: torch.randperm(len(t), generator=generator) for n, t in tables.items()}
            touched = {n: [(at, grads[n][at])] for n, at in orders.items()}
            ours.step(grads if whole else {}, {} if whole else touched, rate)
    for name, table in tables.items():
        torch.testing.assert_close(table, copies[name].detach(), atol=1e-5, rtol=1e-5)
    assert ours.steps == 8


@pytest.mark.parametrize("share", [0, 1 << 40])
def test_gradients_of_equal_rows_are_summed_within_and_across_parts(share, monkeypatch):
    monkeypatch.setattr(optimizer, "_SHARE", share)
    one, two = draw(1, items=(4, 2)), draw(1, items=(4, 2))
    g = draw(2, g=(4, 2))["g"]
    parts = [(torch.tensor([2, 0, 2]), g[:3]), (torch.tensor([0]), g[3:])]
    RowAdam(one).step({}, {"items": parts}, 0.1)
    total = torch.stack([g[1] + g[3], torch.zeros(2), g[0] + g[2], torch.zeros(2)])
    RowAdam(two).step({"items": total}, {}, 0.1)
    torch.testing.assert_close(one["items"], two["items"])


def test_by_rows_idle_rows_keep_values_and_moments(monkeypatch):
    monkeypatch.setattr(optimizer, "_SHARE", 0)
    tables = draw(0, items=(6, 2))
    before = tables["items"].clone()
    ours = RowAdam(tables)
    ones = torch.ones(2, 2)
    ours.step({}, {"items": [(torch.tensor([1, 4]), ones)]}, 0.1)
    ours.step({}, {"items": [(torch.tensor([1, 2]), ones)]}, 0.1)
    idle = torch.tensor([0, 3, 5])
    torch.testing.assert_close(tables["items"][idle], before[idle], rtol=0, atol=0)
    assert not ours.first["items"][idle].any()
    assert not ours.second["items"][idle].any()
    torch.testing.assert_close(ours.first["items"][4], torch.full((2,), 0.1))  # of its one step
    assert (tables["items"][[1, 2, 4]] < before[[1, 2, 4]]).all()


def test_a_small_part_of_a_table_is_stepped_by_rows_and_a_large_one_whole():
    """Idle rows with momentum tell: a whole step still moves them."""
    for n_rows, moves in ((1, False), (9, True)):
        tables = draw(0, items=(10, 2))
        ours = RowAdam(tables)
        ours.step({"items": torch.ones(10, 2)}, {}, 0.1)
        before = tables["items"].clone()
        ours.step({}, {"items": [(torch.arange(n_rows), torch.ones(n_rows, 2))]}, 0.1)
        assert bool((tables["items"][9] != before[9]).all()) == moves


def test_restored_it_goes_on_as_if_never_stopped():
    def run(steps, ours):
        for step in steps:
            grad = draw(step + 1, g=(4, 2))["g"]
            ours.step({}, {"items": [(torch.arange(4), grad)]}, 0.1)

    tables = draw(0, items=(4, 2))
    whole = RowAdam(tables)
    run(range(6), whole)
    first = RowAdam(draw(0, items=(4, 2)))
    run(range(3), first)
    again = RowAdam({"items": first.tables["items"].clone()})
    again.restore({name: t.clone() for name, t in first.state().items()}, first.steps)
    run(range(3, 6), again)
    torch.testing.assert_close(again.tables["items"], tables["items"], rtol=0, atol=0)


def test_a_table_stored_by_columns_is_refused():
    with pytest.raises(ValueError, match="'items' is not stored row by row"):
        RowAdam({"items": torch.randn(3, 4).T})


def test_a_gradient_stored_by_columns_counts_as_it_reads():
    one, two = draw(0, items=(4, 3)), draw(0, items=(4, 3))
    grad = torch.randn(3, 4, generator=torch.Generator().manual_seed(5)).T
    RowAdam(one).step({"items": grad}, {}, 0.1)
    RowAdam(two).step({"items": grad.contiguous()}, {}, 0.1)
    torch.testing.assert_close(one["items"], two["items"], rtol=0, atol=0)


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(st.integers(0, 19), min_size=1, max_size=40),
    n=st.sampled_from([20, 10_000]),  # marked, or sorted
)
def test_distinct_is_unique(rows, n):
    found, place = distinct(torch.tensor(rows), n)
    wanted, back = torch.unique(torch.tensor(rows), return_inverse=True)
    assert found.tolist() == wanted.tolist()
    assert place.tolist() == back.tolist()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    rising=st.booleans(),
)
def test_summed_adds_up_equal_rows(seed, sizes, rising):
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for n in sizes:
        rows = torch.randint(6, (n,), generator=generator)
        parts.append((rows.sort().values if rising else rows, torch.randn(n, 2)))
    at, total = summed(parts, 6)
    wanted = torch.zeros(6, 2)
    for rows, grads in parts:
        wanted.index_add_(0, rows, grads)
    assert at.tolist() == sorted({row for rows, _ in parts for row in rows.tolist()})
    torch.testing.assert_close(total, wanted[at])
