"""Exact evaluation: rank all items that persons have not taken, and find the relevant ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.engine import map_shards
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import (
    DEFAULT_METRICS,
    LISTWISE,
    NOT_LISTED,
    metrics_from_ranks,
    metrics_of_lists,
    parse_metrics,
)
from elasticrec.evaluation.toplist import top_items

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.training.table import BlockTable

Part = Literal["test", "validation"]
_NUMBERS_ON_CPU = 50_000_000
ScoreBatch = Callable[[int, int], "Tensor"]
"""Scores (stop - start, V) of the evaluated users start … stop - 1; the ranking overwrites them.

It can be pickled where an engine other than this process is in use.
"""


@dataclass(frozen=True)
class Queries:
    """The users that are evaluated, the items hidden from each, and the relevant ones."""

    users: np.ndarray
    """(n,) numbers of the users asked about: those with relevant items."""
    seen: Pairs
    """n users: the items that are not shown to each."""
    relevant: Pairs
    """n users: the items that are relevant to each, at least one."""
    train: Pairs
    """All users: what was trained on, by which lists are judged as new or varied."""


def queries_of(split: Split, part: Part = "test", users: np.ndarray | None = None) -> Queries:
    """The users with relevant items in a part; train is hidden, and validation too when testing.

    A relevant item that is hidden all the same can never be shown, and counts as missed.
    """
    if part not in ("test", "validation"):
        raise InputError(f"cannot evaluate on part {part!r}; expected test or validation")
    relevant, able = getattr(split, part), holders(split, part)
    asked = able if users is None else np.asarray(users)[np.isin(users, able)]
    if not len(asked):
        raise InputError(f"the {part} part of {split.name!r} holds no item of any user asked for")
    seen = split.train.rows(asked)
    if part == "test":
        seen = seen.union(split.validation.rows(asked))
    return Queries(asked, seen, relevant.rows(asked), split.train)


def holders(split: Split, part: Part = "validation") -> np.ndarray:
    """The users with items in a part; a part without any is refused."""
    able = np.flatnonzero(getattr(split, part).per_user > 0)
    if not len(able):
        why = "; a refit uses them up (fit with --set refit=false)" if part == "validation" else ""
        raise InputError(f"{split.name}: nobody has {part} items, expected some{why}")
    return able


@dataclass(frozen=True)
class Evaluation:
    """Metrics of the lists of some users."""

    metrics: dict[str, float]
    """By name: means over users such as `recall@20`, and `coverage@20` and `gini@20` of all."""
    users: np.ndarray
    """(n_users,) numbers of the users with relevant items, who count in the means."""
    per_user: dict[str, np.ndarray]
    """Each mean's values per user, parallel to `users`."""
    baselines: dict[str, Evaluation] = field(default_factory=dict)
    """Baselines by name, on the same users, where they were asked for."""

    def __repr__(self) -> str:
        ranked = {"model": self, **self.baselines} if self.baselines else {"": self}
        width = max(map(len, ranked))
        lines = [
            f"{name:{width}} {', '.join(f'{m} {v:.4f}' for m, v in each.metrics.items())}".strip()
            for name, each in ranked.items()
        ]
        return ("\n" if self.baselines else ", ").join([*lines, f"{self.n_users:,} users"])

    @property
    def n_users(self) -> int:
        """Users who count in the means."""
        return len(self.users)


def evaluate(
    table: BlockTable, split: Split, *, part: Part = "test",
    metrics: Iterable[str] = DEFAULT_METRICS, users: np.ndarray | None = None,
    device: str = "auto",
) -> Evaluation:  # fmt: skip
    """Evaluate a table on the relevant items of a part, by exact ranking over all items.

    Args:
        split: the split it was trained on; items taken in train are never shown, nor those in
            validation when testing.
        part: whose pairs are relevant; users without any are left out of the means.
        metrics: names with a length, such as `recall@20`.
        users: numbers of the users to evaluate; by default everyone.
    """
    asked = queries_of(split, part, users)
    if table.users is None:  # folded in from train alone, on every part
        vectors = table.fold_in(split.train.rows(asked.users))
    else:
        vectors = table.users[asked.users]
    persons, items = replace(table, users=vectors).effective(split.train.per_item)
    return evaluate_vectors(persons, items, asked, metrics=metrics, device=device)


def evaluate_vectors(
    persons: Any, items: Any, asked: Queries, *, metrics: Iterable[str] = DEFAULT_METRICS,
    batch_size: int | None = None, device: str = "auto",
) -> Evaluation:  # fmt: skip
    """Evaluate the products of persons (n, k) and items (V, k) on each person's relevant items."""
    import torch

    where = pick_device(device)
    P, E = as_tensor(persons, where), as_tensor(items, where)
    for name, vectors in (("user", P), ("item", E)):
        if not bool(torch.isfinite(vectors).all()):
            raise InputError(f"{name} vectors hold NaN or infinity; expected finite numbers")
    here = (P.numpy(), E.numpy()) if where == "cpu" else (P, E)  # arrays are pickled best
    return evaluate_scores(
        partial(_products, here[0], here[1], where), asked, metrics=metrics, batch_size=batch_size,
        device=where,
    )  # fmt: skip


def _products(persons: Any, items: Any, device: str, start: int, stop: int) -> Tensor:
    return as_tensor(persons, device)[start:stop] @ as_tensor(items, device).T


def evaluate_scores(
    score_batch: ScoreBatch, asked: Queries, *, metrics: Iterable[str] = DEFAULT_METRICS,
    batch_size: int | None = None, device: str = "cpu",
) -> Evaluation:  # fmt: skip
    """Evaluate any scores on each person's relevant items; the rest is as in `evaluate`.

    Args:
        batch_size: persons at once; by default as many as memory is meant for.
    """
    asked_for = parse_metrics(metrics)
    k = max(metric.k for metric in asked_for)
    size = batch_size or users_at_once(asked.train.n_items, device)
    n = len(asked.users)
    batches = [(start, min(start + size, n)) for start in range(0, n, size)]
    shared = score_batch, asked.seen, asked.relevant, k, device
    found = zip(*map_shards(_rank_batch, batches, shared, here=device != "cpu"), strict=True)
    ranks, lists = (np.concatenate(parts) for parts in found)
    by_lists = [metric for metric in asked_for if metric.name in LISTWISE]
    by_hits = [metric for metric in asked_for if metric not in by_lists]
    means, per_user = metrics_of_lists(lists, asked.train, by_lists)
    per_user = metrics_from_ranks(ranks, asked.relevant.indptr, by_hits) | per_user
    means |= {name: float(values.mean()) for name, values in per_user.items()}
    return Evaluation({str(m): means[str(m)] for m in asked_for}, asked.users, per_user)


def _rank_batch(shared: tuple[Any, ...], batch: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """For the users start … stop - 1, ranks of relevant items among the first k, and lists (n, k).

    An item that is not among them has the rank NOT_LISTED, and a list that ends early has -1.
    """
    import torch

    (score_batch, seen, relevant, k, device), (start, stop) = shared, batch
    hidden, sought = (pairs.rows(np.arange(start, stop)) for pairs in (seen, relevant))
    scores = score_batch(start, stop)
    V = seen.n_items
    wanted = torch.as_tensor(sought.keys(), device=device)  # ascending
    ranks = torch.full((len(wanted),), NOT_LISTED, dtype=torch.int32, device=device)
    listed = top_items(scores, k, hidden).items  # (B, K)
    keys = torch.arange(stop - start, device=device).unsqueeze(1) * V + listed
    keys = keys.masked_fill_(listed < 0, -1)
    places = torch.searchsorted(wanted, keys).clamp_(max=len(wanted) - 1)
    hits = wanted[places] == keys
    ranks[places[hits]] = hits.nonzero()[:, 1].to(torch.int32)
    return ranks.cpu().numpy(), listed.to(torch.int32).cpu().numpy()


def as_tensor(vectors: Any, device: str) -> Tensor:
    """Vectors as float32 on a device; an array that is read-only is not copied for that."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.as_tensor(vectors, dtype=torch.float32, device=device)


def users_at_once(n_items: int, device: str) -> int:
    """Users whose scores are held at once: about 200 MB on a CPU, 1 GB on a GPU."""
    numbers = _NUMBERS_ON_CPU if device == "cpu" else 250_000_000
    return max(1, min(4096, numbers // n_items))


def pick_device(name: str) -> str:
    """`cuda` where `auto` finds one, else `cpu`; a device that is not there is refused."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda") or (name == "cuda" and not torch.cuda.is_available()):
        raise InputError(f"device {name!r} is not available here; expected auto, cpu or cuda")
    return name
