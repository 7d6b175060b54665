"""Sums of histories against a slow loop, their backward, and the bases built on them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Leaves
from elasticrec.training.bases.factorization import AggregatedFactorization
from elasticrec.training.bases.history import Histories, History, sum_of_others
from elasticrec.training.rows import unit as rows_of_norm_1
from elasticrec.training.sampler import Batch


def draw(seed, n_users=7, n_items=9, share=0.4):
    """Train pairs, item vectors, and a batch of some of the pairs in any order, some twice."""
    rng = np.random.default_rng(seed)
    taken = rng.random((n_users, n_items)) < share
    taken[0, :2] = True
    users, items = np.nonzero(taken)
    train = Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)
    some = rng.integers(len(users), size=12)
    batch = Batch(
        torch.from_numpy(users[some]), torch.from_numpy(items[some]), torch.tensor([0, 3])
    )
    return train, torch.randn(n_items, 4, generator=torch.Generator().manual_seed(seed)), batch


def unit(vector):
    return vector / vector.norm() if float(vector.detach().norm()) > 1e-12 else vector * 0


def others_slowly(train, items, batch):
    """One pair after the other: her items but the seen one, each of norm 1, summed, of norm 1."""
    rows = []
    for user, seen in zip(batch.users.tolist(), batch.seen.tolist(), strict=True):
        rest = [unit(items[i]) for i in train.of(user) if i != seen]
        rows.append(unit(torch.stack(rest).sum(dim=0)) if rest else items[0] * 0)
    return torch.stack(rows)


def others(train, items, batch):
    units = rows_of_norm_1(items)
    return sum_of_others(units, units[batch.seen], Histories(train).bags(batch.users))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), share=st.sampled_from([0.05, 0.4, 1.0]))
def test_others_are_those_of_a_slow_loop(seed, share):
    train, items, batch = draw(seed, share=share)
    found = others(train, items, batch)
    torch.testing.assert_close(found, others_slowly(train, items, batch), atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_gradient_of_others_is_that_of_the_slow_loop(seed):
    train, items, batch = draw(seed, share=0.6)
    weights = torch.randn(12, 4, generator=torch.Generator().manual_seed(seed + 1))
    grads = []
    for summed in (others, others_slowly):
        leaf = items.clone().requires_grad_()
        grads.append(torch.autograd.grad((summed(train, leaf, batch) * weights).sum(), leaf)[0])
    torch.testing.assert_close(grads[0], grads[1], atol=1e-4, rtol=1e-4)


def test_a_user_with_one_item_has_no_others_and_disturbs_no_gradient():
    train = Pairs.from_arrays(np.array([0, 1, 1]), np.array([0, 0, 1]), n_users=2, n_items=2)
    batch = Batch(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([1]))
    items = torch.tensor([[3.0, 4.0], [1.0, 0.0]], requires_grad=True)
    found = others(train, items, batch)
    torch.testing.assert_close(found, torch.tensor([[0.0, 0.0], [0.6, 0.8]]))
    (grad,) = torch.autograd.grad(found.sum(), items)
    # Only user 1 matters: d(x/|x|)/dx at (3, 4), summed over both outputs.
    torch.testing.assert_close(grad, torch.tensor([[4 / 125, -3 / 125], [0.0, 0.0]]))


def test_everyone_is_the_normalised_sum_of_unit_vectors():
    train, items, _ = draw(5)
    found = Histories(train).everyone(items)
    for user in range(train.n_users):
        wanted = unit(torch.stack([unit(items[i]) for i in train.of(user)]).sum(dim=0))
        torch.testing.assert_close(found[user], wanted, atol=1e-5, rtol=1e-5)


def test_everyone_without_items_is_zero():
    train = Pairs.from_arrays(np.array([1]), np.array([0]), n_users=3, n_items=2)
    found = Histories(train).everyone(torch.eye(2))
    assert found.tolist() == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize("units", [False, True])
def test_users_are_their_others_and_items_the_rows_named(units):
    train, items, batch = draw(2)
    base = History(items, Histories(train), units=units)
    users, vectors = base.forward(Leaves(base.tables), batch)
    torch.testing.assert_close(users, others_slowly(train, items, batch), atol=1e-5, rtol=1e-5)
    wanted = rows_of_norm_1(items) if units else items
    for found, numbers in zip(vectors, batch.items, strict=True):
        torch.testing.assert_close(found, wanted[numbers])


def test_a_step_touches_the_histories_and_the_batchs_items_alone():
    train = Pairs.from_arrays(np.array([0, 0, 1]), np.array([5, 9, 7]), n_users=2, n_items=20)
    batch = Batch(torch.tensor([0]), torch.tensor([5]), torch.tensor([2, 3]), None,
                  torch.tensor([11]))  # fmt: skip
    base = History(torch.randn(20, 4), Histories(train))
    leaves = Leaves(base.tables)
    base.forward(leaves, batch)
    assert leaves.touched["items"].tolist() == [2, 3, 5, 9, 11]
    assert leaves.tensors["items"].shape == (5, 4)


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("more", [0, 90])  # items that nobody has: enough for rows, not the whole
def test_the_gradient_of_a_base_is_that_of_the_slow_loop(units, more):
    """Items weigh in as themselves and in their users' sums at once."""
    train, items, batch = draw(3, share=0.6)
    items = torch.cat([items, torch.ones(more, 4)])
    weights = torch.randn(2, 12, 4, generator=torch.Generator().manual_seed(1))

    def total(users, seen):
        return (users * weights[0]).sum() + (seen * weights[1]).sum()

    base = History(items, Histories(train), units=units)
    leaves = Leaves(base.tables)
    users, (seen, _) = base.forward(leaves, batch)
    (found,) = torch.autograd.grad(total(users, seen), leaves.tensors["items"])
    leaf = items.clone().requires_grad_()
    given = rows_of_norm_1(leaf) if units else leaf
    slow = total(others_slowly(train, leaf, batch), given[batch.seen])
    (wanted,) = torch.autograd.grad(slow, leaf)
    assert bool(leaves.touched) == bool(more)
    for rows in leaves.touched.values():
        assert not wanted[9:].any()
        wanted = wanted[rows]
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_an_aggregated_user_is_her_own_vector_plus_her_items():
    train, items, batch = draw(4)
    own = torch.randn(train.n_users, 4, generator=torch.Generator().manual_seed(9))
    base = AggregatedFactorization(own, items, Histories(train))
    users, vectors = base.forward(Leaves(base.tables), batch)
    wanted = own[batch.users] + others_slowly(train, items, batch)
    torch.testing.assert_close(users, wanted, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(vectors[0], items[batch.seen])
    final_users, final_items = base.final()
    torch.testing.assert_close(final_users, own + base.histories.everyone(items))
    assert final_items is items
