"""The softmax on cosines and its gradient, against plain torch and hand-worked numbers."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize, softplus

from elasticrec.training import softmax
from elasticrec.training.softmax import CosineSoftmax


def draw(seed, n_users, n_items):
    generator = torch.Generator().manual_seed(seed)
    sizes = (n_users, n_users, n_items, n_users)
    vectors = [torch.randn(n, 3, generator=generator).requires_grad_() for n in sizes]
    left_out = torch.rand(n_users, n_items, generator=generator) < 0.3
    left_out[:, 0] = False  # something counts for everyone
    return vectors, torch.rand(n_users, generator=generator) < 0.6, left_out


def plainly(how, users, seen, pool, near, has_near, left_out):
    """The same by autograd, with a matrix of all logits."""
    u, i, j, c = (normalize(x, dim=1) for x in (users, seen, pool, near))
    logits = (u @ j.T / how.temperature).masked_fill(left_out, -torch.inf)
    log_others = logits.logsumexp(dim=1)
    loss = softplus(log_others - (u * i).sum(dim=1) / how.temperature)
    soft = softplus(log_others - (u * c).sum(dim=1) / how.temperature)
    return (loss + how.near_weight * has_near * soft).mean()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    n_users=st.integers(1, 9),
    n_items=st.integers(1, 9),
    at_once=st.sampled_from([1, 20, 1 << 20]),
    temperature=st.sampled_from([0.01, 0.1, 1.0]),
    units=st.booleans(),
    factor=st.sampled_from([1.0, 0.3]),
)
def test_loss_and_gradient_are_those_of_autograd(
    seed, n_users, n_items, at_once, temperature, units, factor
):
    vectors, has_near, left_out = draw(seed, n_users, n_items)
    how = CosineSoftmax(temperature, near_weight=0.5)
    users, seen, pool, near = vectors
    numbers = left_out.flatten().nonzero().squeeze(1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(softmax, "_NUMBERS_AT_ONCE", at_once)
        given_items = (normalize(x, dim=1) if units else x for x in (seen, pool, near))
        i, j, c = given_items
        found = replace(how, units=units)(users, i, j, near=c, has_near=has_near, left_out=numbers)
    wanted = plainly(how, users, seen, pool, near, has_near, left_out)
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    grads = [torch.autograd.grad(factor * x, vectors) for x in (found, wanted)]
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-3 * factor, rtol=2e-3)


def test_it_is_cross_entropy_over_the_sample():
    """Cosines 1, 0.6 and 0 at temperature 0.5: logits 2, 1.2 and 0."""
    loss = CosineSoftmax(0.5)(
        torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1]])
    )
    wanted = -math.log(math.exp(2) / (math.exp(2) + math.exp(1.2) + 1))
    assert float(loss) == pytest.approx(wanted)


def test_large_logits_do_not_overflow():
    users = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    items = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    found = CosineSoftmax(0.001)(users, -users, items)  # logits of ±1,000
    wanted = (2000 + math.log(2) + math.log(3)) / 2  # softplus(ln 2) is ln 3
    assert float(found) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("temperature", [0.5, 0.001])
def test_a_user_who_has_the_whole_pool_has_no_loss_and_no_gradient(temperature):
    users = torch.tensor([[1.0, 2.0], [0.5, 0.0]], requires_grad=True)
    seen = torch.tensor([[0.0, 2.0], [1.0, 1.0]], requires_grad=True)
    pool = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    loss = CosineSoftmax(temperature)
    found = loss(users, seen, pool, left_out=torch.tensor([0, 1]))
    alone = loss(users[1:], seen[1:], pool)
    torch.testing.assert_close(found, alone / 2)
    grads = torch.autograd.grad(found, (users, seen, pool))
    assert grads[0][0].tolist() == grads[1][0].tolist() == [0, 0]
    assert all(torch.isfinite(g).all() for g in grads)


def test_a_user_of_zeros_is_told_from_nothing_and_has_no_gradient():
    users = torch.zeros(1, 2, requires_grad=True)
    found = CosineSoftmax(0.1)(users, torch.ones(1, 2), torch.eye(2))
    assert found.item() == pytest.approx(math.log(3))
    assert torch.autograd.grad(found, users)[0].tolist() == [[0, 0]]


@pytest.mark.gpu
def test_a_gpu_gives_the_same():
    vectors, has_near, left_out = draw(0, 9, 7)
    how = CosineSoftmax(0.1, near_weight=0.5)
    found = {}
    for device in ("cpu", "cuda"):
        leaves = [x.detach().to(device).requires_grad_() for x in vectors]
        numbers = left_out.flatten().nonzero().squeeze(1).to(device)
        loss = how(*leaves[:3], near=leaves[3], has_near=has_near.to(device), left_out=numbers)
        found[device] = [x.cpu() for x in (loss.detach(), *torch.autograd.grad(loss, leaves))]
    for mine, theirs in zip(found["cuda"], found["cpu"], strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)
