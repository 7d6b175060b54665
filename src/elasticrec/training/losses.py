"""BPR and block diversity (Eq. 3)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

DiversityForm = Literal["bounded", "printed"]


def bpr(gaps: Tensor) -> Tensor:
    """Mean of -ln σ(gap): the paper's ϱ is ln σ.

    Args:
        gaps: by how much the score of a taken item exceeds that of one not taken, of any shape.
    """
    return softplus(-gaps).mean()


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
