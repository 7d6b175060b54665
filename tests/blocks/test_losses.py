"""Losses against hand-worked numbers and the printed sums (ledger 6)."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.blocks import losses
from elasticrec.blocks.losses import bpr, diversity, diversity_reference, log_sum_exp, softmax


def test_bpr_of_equal_scores_is_ln_2_and_falls_with_the_gap():
    assert float(bpr(torch.tensor([0.0]))) == pytest.approx(math.log(2))
    assert float(bpr(torch.tensor([2.0]))) == pytest.approx(math.log(1 + math.exp(-2)))


def test_bpr_averages_over_gaps():
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert float(bpr(torch.tensor([[1.0, -2.0]]))) == pytest.approx(expected)


def test_softmax_is_cross_entropy_over_the_sample():
    logits = torch.tensor([[2.0, 0.5, -1.0, 0.0]])
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0]))
    found = softmax(logits[:, 0], torch.logsumexp(logits[:, 1:], dim=1))
    assert float(found) == pytest.approx(float(expected))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), n_blocks=st.integers(1, 9))
def test_diversity_in_one_pass_is_the_double_sum(seed, n_blocks):
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randn(5, n_blocks, 3, generator=generator, dtype=torch.float64)
    assert float(diversity(blocks, "printed")) == pytest.approx(
        float(diversity_reference(blocks)), rel=1e-9, abs=1e-9
    )
    unit = torch.nn.functional.normalize(blocks, dim=2)
    assert float(diversity(blocks, "bounded")) == pytest.approx(
        float(diversity_reference(unit)), rel=1e-9, abs=1e-9
    )


def test_printed_diversity_grows_without_end_and_the_bounded_form_does_not():
    blocks = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(0))
    assert float(diversity(100 * blocks, "printed")) > 9_000 * float(diversity(blocks, "printed"))
    assert float(diversity(100 * blocks)) == pytest.approx(float(diversity(blocks)), rel=1e-5)
    assert float(diversity(100 * blocks)) <= 6**2


def test_l2_below_lambda_n_leaves_the_printed_form_unbounded():
    """With E_n = Ē + δ_n the term is N·Σ‖δ_n‖², so L2 of weight α leaves (α - λN)·Σ‖δ_n‖²."""
    N, weight = 6, 0.1
    spread = torch.randn(1, N, 3, generator=torch.Generator().manual_seed(1))
    spread = spread - spread.mean(dim=1, keepdim=True)

    def loss(alpha, scale):
        blocks = scale * spread
        return float(alpha * blocks.square().sum() - weight * diversity(blocks, "printed"))

    assert loss(0.9 * weight * N, 1000) < loss(0.9 * weight * N, 1) < 0
    assert loss(1.1 * weight * N, 1000) > loss(1.1 * weight * N, 1) > 0


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    n_users=st.integers(1, 9),
    n_items=st.integers(1, 9),
    at_once=st.sampled_from([1, 5, 1 << 17]),
)
def test_log_sum_exp_and_its_gradient_are_those_of_torch(seed, n_users, n_items, at_once):
    generator = torch.Generator().manual_seed(seed)
    users = torch.randn(n_users, 3, generator=generator, requires_grad=True)
    items = (3 * torch.randn(n_items, 3, generator=generator)).requires_grad_()
    weights = torch.randn(n_users, generator=generator)
    left_out = torch.rand(n_users, n_items, generator=generator) < 0.3
    left_out[:, 0] = False  # something counts for everyone
    before, losses._NUMBERS_AT_ONCE = losses._NUMBERS_AT_ONCE, at_once
    try:
        found = log_sum_exp(users, items, left_out.flatten().nonzero().squeeze(1))
    finally:
        losses._NUMBERS_AT_ONCE = before
    wanted = (users @ items.T).masked_fill(left_out, -torch.inf).logsumexp(dim=1)
    torch.testing.assert_close(found, wanted)
    grads = [torch.autograd.grad((x * weights).sum(), (users, items)) for x in (found, wanted)]
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_log_sum_exp_of_large_products_does_not_overflow():
    users = torch.tensor([[1000.0], [-1000.0]])
    found = log_sum_exp(users, torch.tensor([[1.0], [0.5]]))
    torch.testing.assert_close(found, torch.tensor([1000.0, -500.0]))


def test_a_user_who_has_the_whole_pool_has_no_others_and_no_gradient():
    users = torch.tensor([[1.0, 2.0], [0.5, 0.0]], requires_grad=True)
    items = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    found = log_sum_exp(users, items, torch.tensor([0, 1]))
    loss = softmax(torch.zeros(2), found)
    assert loss[0].item() == 0
    grads = torch.autograd.grad(loss.sum(), (users, items))
    assert grads[0][0].tolist() == [0, 0]
    assert all(torch.isfinite(g).all() for g in grads)
