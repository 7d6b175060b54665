"""Lloyd's k-means on any device."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDS = 25
MOST_PER_CENTROID = 256
"""Points that centroids are fitted to, for each of them; more change little."""
_NUMBERS_AT_ONCE = 1 << 25


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
