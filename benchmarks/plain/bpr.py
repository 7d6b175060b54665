"""The plain reference of the training benchmark: matrix factorisation and LightGCN with BPR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from elasticrec.data.interactions import Pairs

BATCH, LAYERS, L2, RATE = 8192, 3, 1e-4, 1e-3

Triples = tuple[np.ndarray, np.ndarray, np.ndarray]
Sampler = Callable[[], Triples]


class Loop:
    """Triples drawn one after the other: a user, an item of hers, an item that is not."""

    def __init__(self, train: Pairs, rng: np.random.Generator) -> None:
        self.n_items, self.rng = train.n_items, rng
        self.items = [train.of(u).tolist() for u in range(train.n_users)]
        self.sets = [set(items) for items in self.items]
        self.users = np.flatnonzero(train.per_user)

    def __call__(self) -> Triples:
        """(B,) users, items they took and items they did not take."""
        triples = []
        for user in self.users[self.rng.integers(len(self.users), size=BATCH)].tolist():
            seen = self.items[user][self.rng.integers(len(self.items[user]))]
            unseen = self.rng.integers(self.n_items)
            while unseen in self.sets[user]:
                unseen = self.rng.integers(self.n_items)
            triples.append((user, seen, unseen))
        users, seen, unseen = np.array(triples).T
        return users, seen, unseen


class Vectorised:
    """The same by whole arrays: taken items are found by one search, and drawn again."""

    def __init__(self, train: Pairs, rng: np.random.Generator) -> None:
        self.train, self.rng, self.keys = train, rng, train.keys()
        self.users = train.users

    def __call__(self) -> Triples:
        """(B,) users, items they took and items they did not take."""
        rows = self.rng.integers(len(self.keys), size=BATCH)
        users = self.users[rows]
        unseen = self.rng.integers(self.train.n_items, size=BATCH)
        wrong = np.arange(BATCH)
        while len(wrong):
            keys = users[wrong].astype(np.int64) * self.train.n_items + unseen[wrong]
            at = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
            wrong = wrong[self.keys[at] == keys]
            unseen[wrong] = self.rng.integers(self.train.n_items, size=len(wrong))
        return users, self.train.items[rows], unseen


class Reference(nn.Module):
    """Plain MF or LightGCN: whole tables in autograd, a dense Adam over everything."""

    def __init__(self, train: Pairs, dimensions: int, sampler: Sampler, *, layers: int) -> None:
        super().__init__()
        self.sampler, self.layers = sampler, layers
        self.users = nn.Embedding(train.n_users, dimensions)
        self.items = nn.Embedding(train.n_items, dimensions)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)
        self.graph = coo_graph(train) if layers else None
        self.adam = torch.optim.Adam(self.parameters(), lr=RATE)

    def vectors(self) -> tuple[Tensor, Tensor]:
        """Propagated users and items, the mean of all layers (Eq. 1)."""
        assert self.graph is not None
        layer = torch.cat([self.users.weight, self.items.weight])
        found = [layer]
        for _ in range(self.layers):
            layer = torch.sparse.mm(self.graph, layer)
            found.append(layer)
        mean = torch.stack(found, dim=1).mean(dim=1)
        n = self.users.num_embeddings
        return mean[:n], mean[n:]

    def step(self) -> None:
        """Draw one batch, and one step of Adam on it."""
        users, seen, unseen = (torch.from_numpy(x.astype(np.int64)) for x in self.sampler())
        own = self.users(users), self.items(seen), self.items(unseen)
        if self.graph is None:
            u, i, j = own
        else:
            all_users, all_items = self.vectors()
            u, i, j = all_users[users], all_items[seen], all_items[unseen]
        loss = nn.functional.softplus((u * j).sum(1) - (u * i).sum(1)).mean()
        loss = loss + L2 / 2 * sum(x.square().sum() for x in own) / len(users)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()


def coo_graph(train: Pairs) -> Tensor:
    """The symmetrically normalised graph over users and items as one COO matrix."""
    users, items = train.users.astype(np.int64), train.items.astype(np.int64)
    weights = 1 / np.sqrt(train.per_user[users] * train.per_item[items])
    rows = np.concatenate([users, items + train.n_users])
    columns = np.concatenate([items + train.n_users, users])
    n = train.n_users + train.n_items
    values = torch.from_numpy(np.tile(weights, 2).astype(np.float32))
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows, columns])), values, (n, n), check_invariants=True
    ).coalesce()
