"""Before the first step: an untrained base with its first vectors, and the memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Base, Factorization, Graph, History, LightGCN
from elasticrec.training.config import TrainConfig

MakeBase = Callable[[Pairs, TrainConfig, torch.Generator], Base]
"""Makes an untrained base for train pairs, on the generator's device."""


def make_base(train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
    """An untrained base on the generator's device."""
    where = generator.device
    needs_graph = config.base == "lightgcn" or config.init == "spectral"
    graph = Graph(train, where) if needs_graph else None
    users, items = first_vectors(train, config, generator, graph)
    if config.base == "history":
        return History(items)
    if config.base == "mf":
        return Factorization(users, items)
    assert graph is not None
    return LightGCN(users, items, graph, layers=config.layers, readout=config.readout)


def first_vectors(
    train: Pairs, config: TrainConfig, generator: torch.Generator, graph: Graph | None = None
) -> tuple[Tensor, Tensor]:
    """(U, D) users and (V, D) items to start from."""
    if config.init == "spectral":
        graph, unit = graph or Graph(train, generator.device), config.loss == "softmax"
        users, items = spectral_tables(graph, config, generator, unit=unit)
        return users * config.init_scale, items * config.init_scale
    D, scale = config.dimensions, config.init_scale
    users = random_table(train.n_users, D, scale, generator)
    return users, random_table(train.n_items, D, scale, generator)


def random_table(rows: int, dimensions: int, scale: float, generator: torch.Generator) -> Tensor:
    """(rows, D) normal numbers whose rows have a norm of about `scale`."""
    device = generator.device
    numbers = torch.randn(rows, dimensions, generator=generator, device=device)
    return numbers * (scale / dimensions**0.5)


def spectral_tables(
    graph: Graph, config: TrainConfig, generator: torch.Generator, *, unit: bool = True
) -> tuple[Tensor, Tensor]:
    """(U, D) users and (V, D) items with norms near 1, from a randomised SVD of the graph.

    Args:
        unit: give every row the norm 1; otherwise all are scaled alike, to a root mean square
            norm of 1, and frequent users and items stay longer.
    """
    n_users, n_items = graph.from_items.shape
    dimensions = config.dimensions
    D = min(dimensions, n_users, n_items)
    width = min(D + config.init_spare, n_users, n_items)
    basis = torch.randn(n_items, width, generator=generator, device=generator.device)
    for _ in range(config.init_rounds):
        basis, _ = _orthogonal(graph.from_users @ (graph.from_items @ basis))
    images = graph.from_items @ basis  # (U, width)
    # Of the square factor, and in double precision: of the tall one it may not converge on a GPU.
    Q, R = _orthogonal(images)
    left, values, right = (x.to(images) for x in torch.linalg.svd(R.double().cpu()))
    scale = values[:D] ** config.init_power
    users = (Q @ left[:, :D]) * scale
    items = (basis @ right.T)[:, :D] * scale
    noise = torch.randn(n_items, D, generator=generator, device=items.device)
    items = items + config.init_noise * noise
    if unit:
        users, items = normalize(users, dim=1), normalize(items, dim=1)
    else:
        users, items = (x / x.square().sum(dim=1).mean().sqrt() for x in (users, items))
    if D < dimensions:  # a tiny catalogue
        shape = n_users + n_items, dimensions - D
        pad = 0.01 * torch.randn(shape, generator=generator, device=users.device)
        users = torch.cat([users, pad[:n_users]], dim=1)
        items = torch.cat([items, pad[n_users:]], dim=1)
    # The singular vectors came column by column; training reads whole rows.
    return users.contiguous(), items.contiguous()


def _orthogonal(x: Tensor) -> tuple[Tensor, Tensor]:
    """Q and R of a tall matrix; from the CPU where a GPU's are not finite.

    A GPU that several processes share now and then gives NaN for finite matrices.
    """
    Q, R = torch.linalg.qr(x)
    if not (Q.isfinite().all() and R.isfinite().all()):
        Q, R = (part.to(x) for part in torch.linalg.qr(x.double().cpu()))
    return Q, R


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed blocks below a gigabyte for reuse; False where that is unknown.

    By default it gives large blocks back to the system at once, and each step then waits for new
    pages: training took up to twice as long. The setting lasts as long as the process, whose
    memory stays at its peak.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3
    settings = {mmap_threshold: 1 << 30, trim_threshold: 1 << 30, top_pad: 1 << 26}
    return all(mallopt(name, value) == 1 for name, value in settings.items())
