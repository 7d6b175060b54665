"""Quantisers of a trained table: product, optimised product, residual, RaBitQ and plain integers.

Each codes the directions of items in a number of bytes per item, its codebooks included, and
gives back what a device decodes. Vectors are turned along their principal axes first, of which the
first ones may be kept: history alone ranks, so a device needs no rotation. Codebooks are halves.
Left open by papers and tried: how many axes, bits of a code. Tests hold the errors against faiss'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Settings = dict[str, Any]
HALF_BYTES = 2
SAMPLE = 16_384
"""Items, at most, that codebooks are fitted to."""
ROUNDS, TURNS = 20, 20
"""Rounds of k-means; rotations of OPQ."""
MOST_STAGES = 64
"""Stages of a residual quantiser; more tell nothing that half precision would keep."""
BEAM = 4
"""Codes that a residual quantiser follows at the same time."""
_NUMBERS_AT_ONCE = 1 << 26


@dataclass(frozen=True)
class Quantiser:
    """A way to code vectors, and the settings that are tried."""

    name: str
    tried: tuple[Settings, ...]
    code: Callable[[Tensor, float, Settings, int], Tensor | None]
    """(items (V, D), bytes per item, settings, seed) -> decoded (V, k); None where too few."""


def along_axes(items: Tensor, axes: int) -> Tensor:
    """(V, axes) the first principal coordinates, not centred: directions from the origin count."""
    moment = (items.T @ items).double()
    _, vectors = torch.linalg.eigh(moment)
    return items @ vectors.flip(1)[:, :axes].to(items.dtype)


def product(items: Tensor, n_bytes: float, settings: Settings, seed: int) -> Tensor | None:
    """Decoded by a product quantiser whose parts may differ in width by one."""
    parts = _parts(items, n_bytes, settings)
    if parts is None:
        return None
    y = along_axes(items, _axes(items, settings))
    y = y[:, _dealt(y.square().mean(dim=0), parts)]
    return _Product(y, parts, settings["bits"], seed).decode(y)


def optimised_product(
    items: Tensor, n_bytes: float, settings: Settings, seed: int
) -> Tensor | None:
    """Decoded by a product quantiser whose rotation is fitted with it (OPQ), by turns."""
    parts = _parts(items, n_bytes, settings)
    if parts is None:
        return None
    y = along_axes(items, _axes(items, settings))
    y = y[:, _dealt(y.square().mean(dim=0), parts)]
    sample = y[_some(len(y), seed, y.device)]
    turn = torch.eye(y.shape[1], device=y.device)
    found = _Product(sample, parts, settings["bits"], seed)
    for _ in range(TURNS):
        left, _, right = torch.linalg.svd((sample.T @ found.decode(sample @ turn)).cpu())
        turn = (left @ right).to(y.device)
        found.refit(sample @ turn)
    return found.decode(y @ turn)


def residual(items: Tensor, n_bytes: float, settings: Settings, seed: int) -> Tensor | None:
    """Decoded by a residual quantiser: each stage codes what those before it left over."""
    axes, bits = _axes(items, settings), settings["bits"]
    words = 2**bits
    each = bits / 8 + HALF_BYTES * words * axes / len(items)
    stages = min(int(n_bytes / each), MOST_STAGES)
    if stages < 1 or words > len(items):
        return None
    y = along_axes(items, axes)
    generator = torch.Generator(device=y.device).manual_seed(seed)
    left = y[_some(len(y), seed, y.device)]
    books = []
    for _ in range(stages):
        book = _kmeans(left[None], words, generator)[0]
        left = left - book[_nearest(left[None], book[None])[0]]
        books.append(book)
    return torch.cat([_beam(some, books) for some in y.split(4096)])


def rabitq(items: Tensor, n_bytes: float, settings: Settings, seed: int) -> Tensor | None:
    """Decoded by RaBitQ: a random turn, then so many bits for each number, and a length.

    The mean is taken away first; of a vector's grids the one with the best cosine counts.
    """
    bits = settings["bits"]
    axes = min(items.shape[1], int((n_bytes - HALF_BYTES) * 8 / bits))
    if axes < 4:
        return None
    y = along_axes(items, axes)
    generator = torch.Generator(device="cpu").manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(axes, axes, generator=generator))[0].to(y.device)
    mean = y.mean(dim=0)
    left = (y - mean) @ turn
    half = 2 ** (bits - 1)
    best, grid = torch.full((len(y),), -1.0, device=y.device), torch.zeros_like(left)
    unit = left / left.abs().amax(dim=1, keepdim=True).clamp(min=1e-12)
    for share in torch.linspace(0.4, 1.1, 1 if bits == 1 else 16).tolist():
        codes = (unit * half / share).floor().clamp(-half, half - 1) + 0.5
        cosine = (codes * left).sum(dim=1) / codes.norm(dim=1)
        better = cosine > best
        best = torch.where(better, cosine, best)
        grid[better] = codes[better]
    length = (grid * left).sum(dim=1) / grid.square().sum(dim=1)
    return mean + (grid * length.half().float()[:, None]) @ turn.T


def integers(items: Tensor, n_bytes: float, settings: Settings, seed: int) -> Tensor | None:
    """Decoded from whole numbers of so many bits, for as many of the first axes as fit."""
    del seed  # nothing is drawn
    bits = settings["bits"]
    axes = min(items.shape[1], int(n_bytes * 8 / bits))
    if axes < 1:
        return None
    y = along_axes(items, axes)
    spread = settings["spread"] * y.std(dim=0)
    middle, step = y.mean(dim=0), 2 * spread.clamp(min=1e-12) / (2**bits - 1)
    low = middle - spread
    return low + step * ((y - low) / step).round().clamp(0, 2**bits - 1)


class _Product:
    """The centroids of a product quantiser."""

    def __init__(self, y: Tensor, parts: int, bits: int, seed: int) -> None:
        self.widths = [y.shape[1] // parts + (m < y.shape[1] % parts) for m in range(parts)]
        self.generator = torch.Generator(device=y.device).manual_seed(seed)
        sample = y[_some(len(y), seed, y.device)]
        self.centroids = _kmeans(self._split(sample), 2**bits, self.generator)

    def decode(self, y: Tensor) -> Tensor:
        """(n, D) the nearest centroids of each part, rounded to halves."""
        halves = self.centroids.half().float()
        return torch.cat([self._joined(halves, self._split(some)) for some in y.split(SAMPLE)])

    def refit(self, y: Tensor) -> None:
        """Move the centroids to the means of what is next to them."""
        x = self._split(y)
        self.centroids = _means(x, _nearest(x, self.centroids), self.centroids)

    def _split(self, y: Tensor) -> Tensor:
        """(M, n, w) the parts of y (n, D), narrow ones filled with zeros."""
        out = y.new_zeros(len(self.widths), len(y), self.widths[0])
        for m, part in enumerate(y.split(self.widths, dim=1)):
            out[m, :, : part.shape[1]] = part
        return out

    def _joined(self, centroids: Tensor, x: Tensor) -> Tensor:
        """(n, D) of parts (M, n, w)."""
        codes = _nearest(x, centroids)
        found = torch.stack([book[code] for book, code in zip(centroids, codes, strict=True)])
        return torch.cat([found[m, :, :w] for m, w in enumerate(self.widths)], dim=1)


def _parts(items: Tensor, n_bytes: float, settings: Settings) -> int | None:
    """Parts of a product quantiser that fit beside its codebooks, at most one for each axis."""
    words, axes = 2 ** settings["bits"], _axes(items, settings)
    left = n_bytes - HALF_BYTES * words * axes / len(items)
    parts = min(int(left * 8 / settings["bits"]), axes)
    return parts if parts >= 1 and words <= len(items) else None


def _axes(items: Tensor, settings: Settings) -> int:
    """How many principal axes are kept."""
    return max(1, round(settings["axes"] * items.shape[1]))


def _dealt(energy: Tensor, parts: int) -> list[int]:
    """The axes, dealt to parts so that the products of their energies are alike."""
    logs = torch.log(energy.clamp(min=1e-20)).tolist()
    floor = min(logs)
    widths = [len(logs) // parts + (m < len(logs) % parts) for m in range(parts)]
    hands: list[list[int]] = [[] for _ in widths]
    total = [0.0] * parts
    for axis in sorted(range(len(logs)), key=lambda a: -logs[a]):
        best = min((m for m in range(parts) if len(hands[m]) < widths[m]), key=lambda m: total[m])
        hands[best].append(axis)
        total[best] += logs[axis] - floor
    return [axis for hand in hands for axis in hand]


def _some(n: int, seed: int, device: torch.device) -> Tensor:
    """Up to `SAMPLE` of n numbers, drawn by a seed."""
    drawn = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return drawn[:SAMPLE].to(device)


def _kmeans(x: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """(M, k, w) centroids of M sets of points (M, n, w)."""
    first = torch.randperm(x.shape[1], generator=generator, device=x.device)[:k]
    centroids = x[:, first]
    if centroids.shape[1] < k:  # fewer points than words
        centroids = centroids.repeat(1, -(-k // centroids.shape[1]), 1)[:, :k]
    for _ in range(ROUNDS):
        codes = _nearest(x, centroids)
        at = torch.randint(x.shape[1], (k,), generator=generator, device=x.device)
        centroids = _means(x, codes, x[:, at])
    return centroids


def _means(x: Tensor, codes: Tensor, empty: Tensor) -> Tensor:
    """(M, k, w) means of points (M, n, w) by code; `empty` where a word has none."""
    (M, _, w), k = x.shape, empty.shape[1]
    at = (codes + k * torch.arange(M, device=x.device)[:, None]).flatten()
    sums = x.new_zeros(M * k, w).index_add_(0, at, x.flatten(0, 1))
    counts = torch.bincount(at, minlength=M * k)[:, None]
    found = torch.where(counts > 0, sums / counts.clamp(min=1), empty.flatten(0, 1))
    return found.view(M, k, w)


def _nearest(x: Tensor, centroids: Tensor) -> Tensor:
    """(M, n) the nearest of centroids (M, k, w) to each of the points (M, n, w)."""
    half = centroids.square().sum(dim=2) / 2  # (M, k)
    at_once = max(1, _NUMBERS_AT_ONCE // (x.shape[1] * centroids.shape[1]))
    return torch.cat([
        torch.baddbmm(h[:, None], some, c.transpose(1, 2), alpha=-1).argmin(dim=2)
        for some, c, h in zip(x.split(at_once), centroids.split(at_once), half.split(at_once),
                              strict=True)
    ])  # fmt: skip


def _beam(y: Tensor, books: list[Tensor]) -> Tensor:
    """(n, D) decoded by the best of `BEAM` sequences of codes."""
    n, D = y.shape
    decoded, error = y.new_zeros(n, 1, D), y.square().sum(dim=1, keepdim=True)
    rows = torch.arange(n, device=y.device)[:, None]
    for book in (each.half().float() for each in books):
        left = y[:, None] - decoded  # (n, B, D)
        errors = error[:, :, None] - 2 * left @ book.T + book.square().sum(dim=1)
        error, best = errors.flatten(1).topk(min(BEAM, errors[0].numel()), dim=1, largest=False)
        decoded = decoded[rows, best // len(book)] + book[best % len(book)]
    best_of_all = error.argmin(dim=1)
    return decoded[rows[:, 0], best_of_all]


CODEBOOKS = ({"axes": 1.0, "bits": 4}, {"axes": 1.0, "bits": 8}, {"axes": 0.5, "bits": 8})
"""Share of the axes that is kept, and bits of a code, that are tried."""
QUANTISERS = {
    each.name: each
    for each in (
        Quantiser("pq", CODEBOOKS, product),
        Quantiser("opq", CODEBOOKS, optimised_product),
        Quantiser("residual quantiser", CODEBOOKS, residual),
        Quantiser("rabitq", ({"bits": 1}, {"bits": 2}, {"bits": 4}), rabitq),
        Quantiser("int8", ({"bits": 8, "spread": 3.0},), integers),
        Quantiser("int4", ({"bits": 4, "spread": 2.0}, {"bits": 4, "spread": 3.0}), integers),
    )
}
"""By the name that result lines carry."""
