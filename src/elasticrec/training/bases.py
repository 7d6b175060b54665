"""Bases: trainable tables, and the vectors that a batch needs of them.

`History` makes users of their items, `Factorization` gives each a vector, and `LightGCN` propagates
vectors over the user-item graph (Eq. 1).
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.training.rows import Leaves, Tables, named_rows, take, unit
from elasticrec.training.sampler import Batch

Readout = Literal["final", "mean"]


class Users(NamedTuple):
    """The users of a batch, as they are and as they ask for one of their items."""

    vectors: Tensor
    """(b, D) of the batch's users."""
    asking: Tensor
    """(B, D) of each pair's user, made without the pair's item, so that it cannot copy it."""


class Base(Protocol):
    """A model that can be trained: `history`, `mf` or `lightgcn`."""

    name: str
    tables: Tables
    """Trainable tensors by name; those named `users` (U, D) and `items` (V, D) may have L2."""
    whole_users: bool
    """True: a batch has to hold all items of its users."""

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The batch's users, and (n, D) vectors of each part of `batch.items`.

        Args:
            leaves: gives the tables, or rows of them, that are to have gradients.
        """
        ...

    def final(self) -> tuple[Tensor | None, Tensor]:
        """(U, D) users, or None where histories make them, and (V, D) items."""
        ...


class History:
    """Item vectors alone; a user asks for an item of hers by the sum of her others."""

    name = "history"
    whole_users = True

    def __init__(self, items: Tensor) -> None:
        self.tables: Tables = {"items": items}

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Normalised sums of the users' items, and the batch's items."""
        items = named_rows(leaves, "items", batch.items)
        return sums(items[0], batch), items

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items."""
        return None, self.tables["items"]


def sums(seen: Tensor, batch: Batch) -> Users:
    """Normalised sums of the unit vectors of the users' items, the batch's seen ones (B, D)."""
    units = unit(seen)
    totals = torch.zeros(len(batch.users), seen.shape[1], dtype=seen.dtype, device=seen.device)
    totals = totals.index_add(0, batch.row, units)
    return Users(unit(totals), unit(totals.index_select(0, batch.row) - units))


class Factorization:
    """Matrix factorisation; a step touches only the rows of its batch."""

    name = "mf"
    whole_users = False

    def __init__(self, users: Tensor, items: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items}

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The batch's users, and its items."""
        return own_users(leaves, batch), named_rows(leaves, "items", batch.items)

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        return self.tables["users"], self.tables["items"]


def own_users(leaves: Leaves, batch: Batch) -> Users:
    """The batch's rows of the table `users`."""
    (vectors,) = named_rows(leaves, "users", [batch.users])
    return Users(vectors, vectors.index_select(0, batch.row))


class Graph:
    """The symmetrically normalised graph, as its two halves in CSR."""

    def __init__(self, train: Pairs, device: str | torch.device = "cpu") -> None:
        users = 1 / np.sqrt(np.maximum(train.per_user, 1))
        items = 1 / np.sqrt(np.maximum(train.per_item, 1))
        half = train.csr()
        half.data = (users[train.users] * items[train.items]).astype(np.float32)
        self.from_items = _csr(half, device)  # (U, V)
        self.from_users = _csr(half.T.tocsr(), device)  # (V, U)


def propagate(
    graph: Graph, users: Tensor, items: Tensor, layers: int, readout: Readout
) -> tuple[Tensor, Tensor]:
    """Users and items after L layers of Eq. 1: the final layer, or the mean of layers 0 … L."""
    u, v = users, items
    total_u, total_v = u.clone(), v.clone()
    for _ in range(layers):
        u, v = graph.from_items @ v, graph.from_users @ u
        total_u += u
        total_v += v
    return (u, v) if readout == "final" else (total_u / (layers + 1), total_v / (layers + 1))


class _Propagate(torch.autograd.Function):
    """Propagation is a polynomial of one symmetric matrix, so its backward is itself."""

    @staticmethod
    def forward(
        ctx: Any, users: Tensor, items: Tensor, graph: Graph, layers: int, readout: Readout
    ) -> tuple[Tensor, Tensor]:
        ctx.settings = (graph, layers, readout)
        return propagate(graph, users, items, layers, readout)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        graph, layers, readout = ctx.settings
        users, items = propagate(graph, grads[0], grads[1], layers, readout)
        return users, items, None, None, None


class LightGCN:
    """LightGCN with L layers; every step propagates the whole graph."""

    name = "lightgcn"
    whole_users = False

    def __init__(
        self, users: Tensor, items: Tensor, graph: Graph, *, layers: int, readout: Readout
    ) -> None:
        self.tables: Tables = {"users": users, "items": items}
        self.graph, self.layers, self.readout = graph, layers, readout

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Propagated vectors of the batch's users, and of its items."""
        all_users, all_items = _Propagate.apply(
            leaves.whole("users"), leaves.whole("items"), self.graph, self.layers, self.readout
        )
        users = all_users.index_select(0, batch.users)
        return Users(users, users.index_select(0, batch.row)), take(all_items, batch.items)

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items after propagation."""
        users, items = self.tables["users"], self.tables["items"]
        return propagate(self.graph, users, items, self.layers, self.readout)


def _csr(matrix: Any, device: str | torch.device) -> Tensor:
    """A scipy CSR matrix as a torch one."""
    with warnings.catch_warnings():
        # Torch warns that its CSR code is beta and unchecked.
        warnings.filterwarnings("ignore", "Sparse (CSR tensor|invariant checks)", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int32)),
            torch.from_numpy(matrix.indices.astype(np.int32)),
            torch.from_numpy(matrix.data.astype(np.float32)), size=matrix.shape, device=device,
        )  # fmt: skip
