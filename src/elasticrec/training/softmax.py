"""Sampled softmax on cosines; one pass computes its value and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from elasticrec.training.rows import along, dots, inverse_norms

_NUMBERS_AT_ONCE = 1 << 20
_LARGEST = torch.finfo(torch.float32).max
_SAFE = 40.0
"""Largest logit that needs no shift before `exp`: sums of a million e⁴⁰ fit into a float."""


@dataclass(frozen=True)
class CosineSoftmax:
    """-ln softmax of a seen item's cosine against those of a shared pool, averaged over users.

    A second item per user, one near the seen one, may count as a weighted second target.
    """

    temperature: float
    """Cosines are divided by it."""
    near_weight: float = 0.0
    """Weight of the second items."""
    units: bool = False
    """True: items have norm 1 already; users need not."""

    def __call__(
        self, users: Tensor, seen: Tensor, pool: Tensor, *,
        near: Tensor | None = None, has_near: Tensor | None = None, left_out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """The loss.

        Args:
            users: (B, D).
            seen: (B, D) the items taken.
            pool: (n, D) the negatives.
            near: (B, D) the second items.
            has_near: (B,) whether there is one.
            left_out: numbers b·n + k, by rising b: item k of the pool is no negative for user b.
        """
        found: Tensor = _Loss.apply(self, users, seen, pool, near, has_near, left_out)
        return found


class _Loss(torch.autograd.Function):
    """Works on a few users at a time on a CPU, so that their logits stay in its cache."""

    @staticmethod
    def forward(
        ctx: Any, how: CosineSoftmax, users: Tensor, seen: Tensor, pool: Tensor,
        near: Tensor | None, has_near: Tensor | None, left_out: Tensor | None,
    ) -> Tensor:  # fmt: skip
        n = len(pool)
        size = len(users) if users.is_cuda else max(1, _NUMBERS_AT_ONCE // max(1, n))
        pool_unit, pool_scale = (pool, None) if how.units else _unit(pool)
        part = _Part(how, pool_unit, len(users))
        made = [torch.empty_like(users), torch.empty_like(seen)]
        if near is not None:
            made.append(torch.empty_like(near))
        starts = range(0, len(users), size)
        outs = _cuts(left_out, starts, n)
        total = users.new_zeros(())
        for start, out in zip(starts, outs, strict=True):
            some = slice(start, start + size)
            second = None if near is None or has_near is None else (near[some], has_near[some])
            total += part(users[some], seen[some], second, out, [x[some] for x in made])
        pool_grad = part.pool_grad
        if pool_scale is not None:
            pool_grad = along(pool_grad, pool_unit, pool_scale)
        ctx.save_for_backward(*made[:2], pool_grad, *made[2:])
        return total / len(users)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weight,) = grads
        made = ctx.saved_tensors
        if weight.is_cuda or float(weight) != 1:
            made = tuple(x * weight for x in made)
        users, seen, pool, *near = made
        return None, users, seen, pool, *(near or [None]), None, None


class _Part:
    """Sums losses and gradients over parts of the users."""

    def __init__(self, how: CosineSoftmax, pool: Tensor, n_users: int) -> None:
        self.how, self.n_users = how, n_users
        self.scaled = pool / how.temperature
        self.pool_grad = torch.zeros_like(pool)
        self.memory: Tensor | None = None

    def __call__(
        self, users: Tensor, seen: Tensor, second: tuple[Tensor, Tensor] | None,
        left_out: Tensor | None, made: list[Tensor],
    ) -> Tensor:  # fmt: skip
        """The sum of losses; writes gradients of users, seen and near items to `made`."""
        how, T = self.how, self.how.temperature
        y, scale = _unit(users)
        powers, log_others, total = self._powers(y, left_out)
        targets: list[tuple[Tensor, Tensor, Tensor | None]] = [(seen, made[1], None)]
        if second is not None:
            targets.append((second[0], made[2], second[1]))
        loss, weight, toward = users.new_zeros(()), torch.zeros_like(total), []
        for items, grad, there in targets:
            unit, unit_scale = (items, None) if how.units else _unit(items)
            gap = log_others - dots(y, unit) / T
            factor = 1.0 if there is None else how.near_weight * there.unsqueeze(1)
            loss = loss + (factor * softplus(gap)).sum()
            pull = factor * torch.sigmoid(gap) / self.n_users  # (b, 1)
            weight = weight + pull
            toward.append((unit, pull / -T))
            torch.mul(y, pull / -T, out=grad)
            if unit_scale is not None:
                along(grad, unit, unit_scale, out=grad)
        weight = weight / total
        self.pool_grad.addmm_(powers.T, y * (weight / T))
        away = torch.mm(powers, self.scaled).mul_(weight)
        for unit, pull in toward:
            away.addcmul_(unit, pull)
        along(away, y, scale, out=made[0])
        return loss

    def _powers(self, y: Tensor, left_out: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """(b, n) e^(logit - shift), (b, 1) log Σ e^logit, and (b, 1) the row sums of the first."""
        if self.memory is None:
            self.memory = y.new_empty(len(y), len(self.scaled))
        powers = torch.mm(y, self.scaled.T, out=self.memory[: len(y)])
        if left_out is not None:
            powers.view(-1).index_fill_(0, left_out, -torch.inf)
        if self.how.temperature * _SAFE >= 1:
            total = powers.exp_().sum(dim=1, keepdim=True)
            log_others = total.log()
        else:
            largest = powers.amax(dim=1, keepdim=True).clamp_(min=-_LARGEST)
            total = powers.sub_(largest).exp_().sum(dim=1, keepdim=True)
            log_others = total.log() + largest
        # Where a user has the whole pool, all powers are 0: any divisor above 0 gives 0.
        return powers, log_others, total.clamp_(min=1e-30)


def _unit(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of norm 1, and the factors (n, 1) that made them so."""
    scale = inverse_norms(vectors)
    return vectors * scale, scale


def _cuts(left_out: Tensor | None, starts: range, n: int) -> list[Tensor | None]:
    """The numbers of `left_out` by part, counted from the part's first user."""
    if left_out is None:
        return [None] * len(starts)
    if len(starts) == 1:
        return [left_out]
    firsts = torch.tensor([start * n for start in starts], device=left_out.device)
    ends = [*torch.searchsorted(left_out, firsts).tolist(), len(left_out)]
    return [
        left_out[a:b] - start * n for start, a, b in zip(starts, ends[:-1], ends[1:], strict=True)
    ]
