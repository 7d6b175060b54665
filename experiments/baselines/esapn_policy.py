"""The policy of ESAPN: it learns, while items are trained, whom to enlarge.

Every epoch is one pass of the stream, at whose start all items are small and unknown again. An
enlargement is rewarded by how much more it lowers the loss of its pair than the others of the batch
do: the policy is to rank them, since the budget decides how many there will be.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize, one_hot, softplus

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Base, Users, own_users
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch
from elasticrec.training.setup import first_vectors
from experiments.baselines.composed import MixedSizes
from experiments.baselines.fitting import logistic

HIDDEN = 8
RELUCTANCE = 2.0
"""At first an item is enlarged at one in e to this of its visits, or a little fewer."""


class Growing:
    """Users, items that grow as they are visited, and the network that decides about it."""

    name = "esapn"
    whole_users = False

    def __init__(
        self, users: Tensor, items: Tensor, mixed: MixedSizes, generator: torch.Generator,
        n_pairs: int,
    ) -> None:  # fmt: skip
        self.mixed, self.generator, self.n_pairs = mixed, generator, n_pairs
        self.passed = 0
        n_features = 2 + len(mixed.sizes)
        shape = (n_features + 1, HIDDEN)
        network = 0.3 * torch.randn(shape, generator=generator, device=items.device)
        self.tables: Tables = {
            "users": users,
            **mixed.tables(items, generator),
            "policy_in": network[:-1].clone(),
            "policy_out": network[-1].clone(),
        }
        self.counts = torch.zeros(len(items), device=items.device)
        self.before = self.visits = self.log_chance = self.grows = torch.zeros(0)

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The users, and items after some of those seen were enlarged.

        Vectors before that and log-probabilities are kept for the loss, which rewards the policy.
        """
        tables = {name: leaves.whole(name) for name in self.tables if name != "users"}
        if self.passed >= self.n_pairs:  # the stream begins anew
            self.passed = 0
            self.counts.zero_()
            self.mixed.chosen = torch.zeros_like(self.mixed.chosen)
        self.passed += len(batch.seen)
        seen, chosen = batch.seen, self.mixed.chosen
        self.counts.index_add_(0, seen, torch.ones_like(seen, dtype=torch.float32))
        last = len(self.mixed.sizes) - 1
        self.visits = self.counts.index_select(0, seen)
        logits = self.logits(tables, self.visits, chosen[seen])
        draws = torch.rand(len(chosen), generator=self.generator, device=seen.device)[seen]
        self.grows = (draws < torch.sigmoid(logits.detach())) & (chosen[seen] < last)
        grown = seen[self.grows]
        larger = chosen.clone()
        larger[grown] = chosen[grown] + 1
        self.log_chance = logsigmoid(logits)
        with torch.no_grad():
            self.before = self.mixed.composed(tables, chosen).index_select(0, seen)
        self.mixed.chosen = larger
        return own_users(leaves, batch), take(self.mixed.composed(tables, larger), batch.items)

    def logits(self, tables: Tables, counts: Tensor, chosen: Tensor) -> Tensor:
        """(n,) of enlarging items that came so often and are so large."""
        often = torch.log1p(counts).unsqueeze(1) / 5
        size = one_hot(chosen, len(self.mixed.sizes)).float()
        features = torch.cat([often, torch.ones_like(often), size], dim=1)
        hidden = torch.tanh(features @ tables["policy_in"])
        return hidden @ tables["policy_out"] - RELUCTANCE

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items as large as they are."""
        return self.tables["users"], self.mixed.compose(self.tables)


class Search:
    """A base and a loss for the library's loop, which learn the policy while they train."""

    def __init__(self, sizes: tuple[int, ...], n_items: int, config: TrainConfig) -> None:
        self.sizes, self.n_items, self.config = sizes, n_items, config
        self.objective = Objective(config)
        self.base: Growing | None = None

    def make(self, train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
        """The base, all of whose items are of the smallest size."""
        users, items = first_vectors(train, config, generator)
        smallest = torch.zeros(self.n_items, dtype=torch.int64, device=generator.device)
        mixed = MixedSizes(self.sizes, smallest)
        self.base = Growing(users, items, mixed, generator, len(train))
        return self.base

    def loss(self, vectors: Vectors, batch: Batch) -> Tensor:
        """The loss of a batch, and that of the policy, whose gradients never meet."""
        assert self.base is not None
        with torch.no_grad():
            gained = self._each(vectors, self.base.before) - self._each(vectors, vectors.seen)
            grows = self.base.grows.float()
            n = grows.sum().clamp(min=1)
            gained = (gained - (gained * grows).sum() / n) * grows
            reward = gained / (gained.square().sum() / n).sqrt().clamp(min=1e-6)
        policy = -(reward * self.base.log_chance).sum() / n
        if self.config.loss == "softmax":
            return self.objective(vectors, batch) + policy
        return logistic(vectors, batch) + policy

    def _each(self, vectors: Vectors, seen: Tensor) -> Tensor:
        """(B,) the loss of each pair if the seen item had these vectors."""
        if self.config.loss != "softmax":
            return softplus(-(vectors.users.asking * seen).sum(dim=1))
        users = normalize(vectors.users.asking, dim=1) / self.config.temperature
        pool = torch.logsumexp(users @ normalize(vectors.unseen, dim=1).T, dim=1)
        return softplus(pool - (users * normalize(seen, dim=1)).sum(dim=1))

    def wishes(self) -> np.ndarray:
        """(V, K - 1) how many times the policy would enlarge each item from each size in a stream.

        That is its chance at a visit, times the visits.
        """
        base = self.base
        assert base is not None
        found = []
        for k in range(len(self.sizes) - 1):
            here = torch.full_like(base.counts, k, dtype=torch.int64)
            chance = torch.sigmoid(base.logits(base.tables, base.counts, here))
            found.append(base.counts * chance)
        return np.asarray(torch.stack(found, dim=1).cpu().numpy())
