"""Rows of norm 1: values and gradient against autograd's own."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from elasticrec.training.unit import unit


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
