"""BPR, sampled softmax, and block diversity (Eq. 3)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

DiversityForm = Literal["bounded", "printed"]
_NUMBERS_AT_ONCE = 1 << 17
_LARGEST = torch.finfo(torch.float32).max


def bpr(gaps: Tensor) -> Tensor:
    """Mean of -ln σ(gap): the paper's ϱ is ln σ.

    Args:
        gaps: by how much the score of a taken item exceeds that of one not taken, of any shape.
    """
    return softplus(-gaps).mean()


def softmax(seen: Tensor, log_others: Tensor) -> Tensor:
    """(B,) of -ln softmax of each taken item against its sampled others.

    Args:
        seen: (B,) logits of taken items.
        log_others: (B,) logsumexp of the others' logits.
    """
    return softplus(log_others - seen)


def log_sum_exp(users: Tensor, items: Tensor, left_out: Tensor | None = None) -> Tensor:
    """(B,) log of the sum over shared items of exp(user · item).

    Args:
        users: (B, D).
        items: (n, D).
        left_out: numbers b·n + k of the products that do not count.
    """
    found: Tensor = _LogSumExp.apply(users, items, left_out)
    return found


class _LogSumExp(torch.autograd.Function):
    """Keeps softmax shares, so that the backward is two products and no pass over B × n."""

    @staticmethod
    def forward(ctx: Any, users: Tensor, items: Tensor, left_out: Tensor | None) -> Tensor:
        shares = users @ items.T  # (B, n)
        if left_out is not None:
            shares.view(-1).index_fill_(0, left_out, -torch.inf)
        logs = users.new_empty(len(users))
        # On a CPU a few rows at a time, which stay in its cache from one operation to the next.
        step = len(users) if users.is_cuda else max(1, _NUMBERS_AT_ONCE // max(1, len(items)))
        for some, out in zip(shares.split(max(step, 1)), logs.split(max(step, 1)), strict=True):
            largest = some.amax(dim=1, keepdim=True).clamp_(min=-_LARGEST)
            total = some.sub_(largest).exp_().sum(dim=1, keepdim=True)
            torch.add(largest, total.log(), out=out.unsqueeze(1))
            some.div_(total.clamp_(min=1e-30))  # a user who has the whole pool: all shares are 0
        ctx.save_for_backward(users, items, shares)
        return logs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        users, items, shares = ctx.saved_tensors
        weight = grads[0].unsqueeze(1)
        return (shares @ items).mul_(weight), shares.T @ (users * weight), None


def diversity(blocks: Tensor, form: DiversityForm = "bounded") -> Tensor:
    """Mean over items of Σ_{n<n'} ‖e_n - e_n'‖² in O(N), by N·Σ‖e_n‖² - ‖Σ e_n‖².

    As printed it is unbounded below once subtracted from a loss (blocks may grow for ever), so
    `bounded` measures unit-norm blocks, where it lies between 0 and N² for any table.

    Args:
        blocks: (B, N, d) the blocks of some items.
    """
    if form == "bounded":
        blocks = normalize(blocks, dim=2)
    N = blocks.shape[1]
    squares = blocks.square().sum(dim=(1, 2))  # (B,)
    return (N * squares - blocks.sum(dim=1).square().sum(dim=1)).mean()


def diversity_reference(blocks: Tensor) -> Tensor:
    """The double sum of Eq. 3 as printed, averaged over items."""
    N = blocks.shape[1]
    total = torch.zeros(blocks.shape[0], dtype=blocks.dtype, device=blocks.device)
    for n in range(N):
        for m in range(n + 1, N):
            total = total + (blocks[:, n] - blocks[:, m]).square().sum(dim=1)
    return total.mean()
