"""K-means on any device, and a base whose items are sums of codewords, for LightRec."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticrec.training.bases import Users, own_users
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch

ROUNDS = 25
MOST_PER_CENTROID = 256
"""Points that centroids are fitted to, for each of them; more change little."""
_NUMBERS_AT_ONCE = 1 << 25
SOFTNESS = 0.1
"""Of the softmax that lends the argmax its gradient, times the mean squared norm of an item."""


class Coded:
    """Users, items that are coded whenever they are used, and the codebooks."""

    name = "lightrec"
    whole_users = False

    def __init__(self, users: Tensor, items: Tensor, codebooks: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items, "codebooks": codebooks}
        self.softness = SOFTNESS * float(items.square().sum(dim=1).mean())

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The rows of the batch's users, and its items as sums of codewords."""
        items, places = leaves.rows("items", torch.cat(batch.items))
        coded = self.sums(items, leaves.whole("codebooks"))
        parts = places.split([len(part) for part in batch.items])
        return own_users(leaves, batch), take(coded, list(parts))

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


def nearest(points: Tensor, centroids: Tensor) -> Tensor:
    """(n,) the centroid next to each point (n, w), some points at a time."""
    half = centroids.square().sum(dim=1) / 2
    size = max(1, _NUMBERS_AT_ONCE // len(centroids))
    return torch.cat([(half - part @ centroids.T).argmin(dim=1) for part in points.split(size)])


def kmeans(points: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """(k, w) centroids of points (n, w); one that nobody is next to moves to a random point."""
    chosen = torch.randperm(len(points), generator=generator, device=points.device)
    sample = points[chosen[: MOST_PER_CENTROID * k]]
    centroids = sample[torch.arange(k, device=points.device) % len(sample)].clone()
    for _ in range(ROUNDS):
        codes = nearest(sample, centroids)
        counts = torch.bincount(codes, minlength=k).unsqueeze(1)
        sums = torch.zeros_like(centroids).index_add_(0, codes, sample)
        at = torch.randint(len(sample), (k,), generator=generator, device=points.device)
        centroids = torch.where(counts > 0, sums / counts.clamp(min=1), sample[at])
    return centroids
