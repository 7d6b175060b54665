"""Losses against hand-worked numbers and the printed sums (ledger 6)."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.training.losses import bpr, diversity, diversity_reference


def test_bpr_of_equal_scores_is_ln_2_and_falls_with_the_gap():
    assert float(bpr(torch.tensor([0.0]))) == pytest.approx(math.log(2))
    assert float(bpr(torch.tensor([2.0]))) == pytest.approx(math.log(1 + math.exp(-2)))


def test_bpr_averages_over_gaps():
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert float(bpr(torch.tensor([[1.0, -2.0]]))) == pytest.approx(expected)


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
