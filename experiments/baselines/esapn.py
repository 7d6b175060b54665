"""ESAPN (Liu et al., SIGIR '20): a policy enlarges an item's embedding as its popularity grows.

Train pairs pass as a stream. Whenever an item comes by, a small network that sees how often it has
come and how large it is draws whether to enlarge it; the reward is by how much that lowers the loss
of the pair, and the network follows the policy gradient. Then sizes are fixed and trained from the
start. Left open: the candidate sizes (multiples of what a plain table could have, tried), and how
to keep to a budget, which the paper does not: the policy says whom to enlarge first, the budget how
many. A larger vector begins with the smaller one; the paper's batch normalisation and tanh are left
out. Numbers, sizes and maps are charged, and on cosines (our loss) a byte per item for norm and
gain. Users have one size. Its paper's loss is the cross entropy of clicks, with sampled zeros.

While the policy learns, every epoch is one pass of the stream, at whose start all items are small
and unknown again. An enlargement is rewarded by how much more it lowers the loss of its pair than
the others of the batch do: the policy is to rank them, since the budget decides how many there are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize, one_hot, softplus

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.space import FLOAT_BYTES, Budget
from elasticrec.training.bases import Base, Users, own_users
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch
from elasticrec.training.setup import first_vectors
from experiments.baselines.composed import (
    Maker,
    MixedSizes,
    beside_bytes,
    from_sizes,
    scaled,
    scales_of,
    stored_sizes,
)
from experiments.baselines.contract import SCALE_ENDS_BYTES, BudgetTooSmall, Fitted, Stored, decoder
from experiments.baselines.fitting import (
    LARGEST,
    fit_vectors,
    logistic,
    our_config,
    paper_config,
    reseeded,
)

HIDDEN = 8
RELUCTANCE = 2.0
"""At first an item is enlarged at one in e to this of its visits, or a little fewer."""
PAPER_EPOCHS, OUR_EPOCHS = 32, 28
SEARCH_SHARE = 4
"""The policy is learned in one in so many epochs, before the final sizes are trained."""
MAPS_SHARE = 4
"""Maps may take one in so many bytes: a matter of tiny catalogues alone."""
TRIALS: dict[str, list[dict[str, Any]]] = {
    "paper": [
        {"multiples": [0.5, 1, 2], "learning_rate": 0.01, "negatives": 4, "l2": 0.01},
        {"multiples": [0.5, 1, 2, 4], "learning_rate": 0.01, "negatives": 16, "l2": 0.01},
    ],
    "ours": [
        {"multiples": [0.5, 1, 2], "temperature": 0.1, "cooccurrence": 0.3},
        {"multiples": [0.5, 1, 2, 4], "temperature": 0.1, "cooccurrence": 1.0},
    ],
}


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


@dataclass(frozen=True)
class Esapn:
    """Sizes that a policy chose."""

    name: str = "esapn"
    losses: tuple[str, ...] = tuple(TRIALS)
    sizes: str = "retrained"

    def trials(self, loss: str) -> list[dict[str, Any]]:
        """As in `Baseline`."""
        return TRIALS[loss]

    def fit(
        self, split: Split, budget: Budget, *,
        loss: str, settings: dict[str, Any], seed: int, device: str, epochs: int | None = None,
    ) -> Fitted:  # fmt: skip
        """As in `Baseline`."""
        V, on_cosines = split.n_items, loss == "ours"
        beside = V + SCALE_ENDS_BYTES if on_cosines else 0
        sizes, numbers = self._sizes(V, budget, beside, settings["multiples"])
        D = sizes[-1]
        if on_cosines:
            config = our_config(split, D, settings, seed, epochs or OUR_EPOCHS)
        else:
            config = paper_config(D, settings, seed, epochs or PAPER_EPOCHS)
        search = Search(sizes, V, config)
        shorter = reseeded(config, epochs=max(1, config.epochs // SEARCH_SHARE))
        searched = fit_vectors(split, shorter, device, make=search.make, loss=search.loss)
        chosen = grow(sizes, search.wishes(), numbers)
        made = Maker(MixedSizes(sizes, torch.from_numpy(chosen)))
        own = None if on_cosines else logistic
        trained = fit_vectors(split, config, device, make=made, loss=own)
        started = time.perf_counter()
        stored = stored_sizes(made.arrays(), sizes, chosen)
        if on_cosines:
            stored |= scales_of(trained, from_sizes(stored))
        seconds = searched.seconds + trained.seconds + time.perf_counter() - started
        return Fitted("esapn", stored, trained.users, D, seconds).within(budget)

    def _sizes(
        self, V: int, budget: Budget, beside: int, multiples: list[float]
    ) -> tuple[tuple[int, ...], int]:
        """Candidate sizes, and how many numbers all items may have together."""
        plain = max(1, (budget.n_bytes - beside) // (FLOAT_BYTES * (V + 1)))
        for unit in range(min(plain, LARGEST), 0, -1):
            rounded = {min(LARGEST, max(1, round(unit * multiple))) for multiple in multiples}
            sizes = tuple(sorted(rounded))
            fixed = beside + beside_bytes(V, sizes, sizes[-1]) + FLOAT_BYTES * sizes[-1]
            numbers = (budget.n_bytes - fixed) // FLOAT_BYTES
            light = unit == 1 or MAPS_SHARE * FLOAT_BYTES * sum(sizes) * sizes[-1] < budget.n_bytes
            if light and numbers >= V * sizes[0]:
                return sizes, numbers
        raise BudgetTooSmall(self.name, budget, fixed + FLOAT_BYTES * V * sizes[0])


def grow(sizes: tuple[int, ...], wishes: np.ndarray, numbers: int) -> np.ndarray:
    """(V,) which size each item has, after the most wanted enlargements that fit.

    Args:
        sizes: candidates, rising.
        wishes: (V, K - 1) how much the policy wants to enlarge an item from each size.
        numbers: that all items may have together, at least V times the smallest size.
    """
    V = len(wishes)
    wanted = np.minimum.accumulate(wishes, axis=1)  # no size is skipped
    costs = np.diff(sizes)
    steps = np.tile(np.arange(len(costs)), V)
    items = np.repeat(np.arange(V), len(costs))
    order = np.lexsort((items, steps, -wanted.reshape(-1)))
    spent = np.cumsum(costs[steps[order]])
    taken = order[spent <= numbers - V * sizes[0]]
    return np.bincount(items[taken], minlength=V)


@decoder("esapn")
def decode(stored: Stored) -> np.ndarray:
    """(V, D) the items, times their scales."""
    return scaled(from_sizes({k: v for k, v in stored.items() if "scale" not in k}), stored)


ESAPN = Esapn()
