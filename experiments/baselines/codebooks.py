"""A base whose items are sums of codewords, one from each codebook, for LightRec."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticrec.training.bases import Parts, Tables
from elasticrec.training.sampler import Batch
from experiments.baselines.kmeans import nearest

SOFTNESS = 0.1
"""Of the softmax that lends the argmax its gradient, times the mean squared norm of an item."""


class Coded:
    """Users, items that are coded whenever they are used, and the codebooks."""

    name = "lightrec"
    by_rows: tuple[str, ...] = ("users", "items")
    units = False

    def __init__(self, users: Tensor, items: Tensor, codebooks: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items, "codebooks": codebooks}
        self.softness = SOFTNESS * float(items.square().sum(dim=1).mean())

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, D) the rows of the batch's users, and sums of codewords of some items."""
        del batch
        coded = self.sums(torch.cat(rows["items"]), tables["codebooks"])
        return rows["users"][0], list(coded.split([len(part) for part in items]))

    def sums(self, items: Tensor, codebooks: Tensor) -> Tensor:
        """(n, D) sums of the chosen codewords; choices pass on the gradient of a softmax."""
        left, total = items, torch.zeros_like(items)
        for words in codebooks:
            near = left @ words.T - words.square().sum(dim=1) / 2  # (n, K)
            soft = torch.softmax(near / self.softness, dim=1)
            word = words.index_select(0, near.argmax(dim=1))
            total = total + word + (soft - soft.detach()) @ words.detach()
            left = left - word.detach()
        return total

    def codes(self) -> Tensor:
        """(V, B) the codes of all items."""
        return residual_codes(self.tables["items"], self.tables["codebooks"])

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) sums of codewords."""
        codebooks = self.tables["codebooks"]
        return self.tables["users"], summed(codebooks, self.codes())


def residual_codes(items: Tensor, codebooks: Tensor) -> Tensor:
    """(n, B) for each codebook the word nearest to what the words before it left over."""
    left, codes = items, []
    for words in codebooks:
        codes.append(nearest(left, words))
        left = left - words[codes[-1]]
    return torch.stack(codes, dim=1)


def summed(codebooks: Tensor, codes: Tensor) -> Tensor:
    """(n, D) the sums of the words that codes (n, B) name."""
    total = torch.zeros(len(codes), codebooks.shape[2], device=codes.device)
    for b, words in enumerate(codebooks):
        total += words[codes[:, b]]
    return total
