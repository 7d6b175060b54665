"""Sums of histories against a slow loop, their gradient, and the bases built on them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import History, Leaves, sums
from elasticrec.training.sampler import Batch


def draw(seed, n_users=7, n_items=9, share=0.4):
    """Train pairs, item vectors, and a batch of some users with all their items."""
    rng = np.random.default_rng(seed)
    taken = rng.random((n_users, n_items)) < share
    taken[0, :2] = True
    users, items = np.nonzero(taken)
    train = Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)
    batch = batch_of(train, np.flatnonzero((train.per_user > 0) & (rng.random(n_users) < 0.7)))
    return train, torch.randn(n_items, 4, generator=torch.Generator().manual_seed(seed)), batch


def batch_of(train, users):
    histories = [train.of(user) for user in users]
    row = np.repeat(np.arange(len(users)), [len(history) for history in histories])
    seen = np.concatenate(histories) if len(users) else np.zeros(0)
    numbers = [torch.from_numpy(np.asarray(x, dtype=np.int64)) for x in (users, seen, row)]
    return Batch(*numbers, torch.tensor([0, 3]))


def unit(vector):
    return vector / vector.norm() if float(vector.detach().norm()) > 1e-12 else vector * 0


def sums_slowly(train, items, batch):
    """Each user's items of norm 1, summed, of norm 1; and the same without each seen item."""
    zero = items[0] * 0

    def total(user, without=None):
        return unit(sum((unit(items[i]) for i in train.of(user) if i != without), start=zero))

    own = [total(user) for user in batch.users.tolist()]
    asking = [
        total(batch.users[r], seen)
        for r, seen in zip(batch.row.tolist(), batch.seen.tolist(), strict=True)
    ]
    return tuple(torch.stack(x) if x else items[:0] for x in (own, asking))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), share=st.sampled_from([0.05, 0.4, 1.0]))
def test_sums_are_those_of_a_slow_loop(seed, share):
    train, items, batch = draw(seed, share=share)
    found = sums(items[batch.seen], batch)
    for mine, wanted in zip(found, sums_slowly(train, items, batch), strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_gradient_of_sums_is_that_of_the_slow_loop(seed):
    train, items, batch = draw(seed, share=0.6)
    grads = []
    for quick in (True, False):
        leaf = items.clone().requires_grad_()
        own, asking = sums(leaf[batch.seen], batch) if quick else sums_slowly(train, leaf, batch)
        generator = torch.Generator().manual_seed(seed)
        total = sum((x * torch.randn(x.shape, generator=generator)).sum() for x in (own, asking))
        grads.append(torch.autograd.grad(total, leaf)[0])
    torch.testing.assert_close(grads[0], grads[1], atol=1e-4, rtol=1e-4)


def test_a_user_with_one_item_asks_with_nothing_and_disturbs_no_gradient():
    train = Pairs.from_arrays(np.array([0, 1, 1]), np.array([0, 0, 1]), n_users=2, n_items=2)
    batch = batch_of(train, [0, 1])
    items = torch.tensor([[3.0, 4.0], [1.0, 0.0]], requires_grad=True)
    asking = sums(items[batch.seen], batch).asking
    torch.testing.assert_close(asking, torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.6, 0.8]]))
    (grad,) = torch.autograd.grad(asking.sum(), items)
    # Of user 1 alone: d(x/|x|)/dx at (3, 4) and at (1, 0), summed over both outputs.
    torch.testing.assert_close(grad, torch.tensor([[4 / 125, -3 / 125], [0.0, 1.0]]))


def test_users_are_sums_of_their_items_and_items_the_rows_named():
    train, items, batch = draw(2)
    base = History(items)
    users, vectors = base.forward(Leaves(base.tables), batch)
    for mine, wanted in zip(users, sums_slowly(train, items, batch), strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-5, rtol=1e-5)
    for found, numbers in zip(vectors, batch.items, strict=True):
        torch.testing.assert_close(found, items[numbers])


def test_a_step_touches_the_batchs_items_alone():
    train = Pairs.from_arrays(np.array([0, 0, 1]), np.array([5, 9, 7]), n_users=2, n_items=20)
    batch = batch_of(train, [0])
    base = History(torch.randn(20, 4))
    leaves = Leaves(base.tables)
    base.forward(leaves, batch)
    assert leaves.touched["items"].tolist() == [0, 3, 5, 9]
    assert leaves.tensors["items"].shape == (4, 4)


@pytest.mark.parametrize("more", [0, 90])  # items that nobody has: enough for rows, not the whole
def test_the_gradient_of_a_base_is_that_of_the_slow_loop(more):
    """Items weigh in as themselves and in their users' sums at once."""
    train, items, batch = draw(3, share=0.6)
    items = torch.cat([items, torch.ones(more, 4)])

    def total(users, seen):
        generator = torch.Generator().manual_seed(1)
        parts = (*users, seen)
        return sum((x * torch.randn(x.shape, generator=generator)).sum() for x in parts)

    base = History(items)
    leaves = Leaves(base.tables)
    users, (seen, _) = base.forward(leaves, batch)
    (found,) = torch.autograd.grad(total(users, seen), leaves.tensors["items"])
    leaf = items.clone().requires_grad_()
    slow = total(sums_slowly(train, leaf, batch), leaf[batch.seen])
    (wanted,) = torch.autograd.grad(slow, leaf)
    assert bool(leaves.touched) == bool(more)
    for rows in leaves.touched.values():
        assert not wanted[9:].any()
        wanted = wanted[rows]
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
