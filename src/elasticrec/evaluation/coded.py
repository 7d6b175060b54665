"""Scores of a coded model as a device computes them (docs/bundle-format.md, 10 and 11).

score = ⟨u, x⟩ + c · votes: x is what the item's group keeps of its codes about the group's mean,
votes are what the person's history says through the item's kept neighbours, c is the row's mixing
weight for this kind of person, divided by √n for a history of n items where the model says so.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.coding.codes import decode_item
from elasticrec.coding.neighbours import check_lists
from elasticrec.data.errors import InputError
from elasticrec.evaluation.decoding import Decoder
from elasticrec.evaluation.ranking import pick_device
from elasticrec.evaluation.votes import Cast, Votes

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.coding.codes import Codes
    from elasticrec.coding.mixing import Mixing
    from elasticrec.coding.neighbours import Neighbours
    from elasticrec.data.interactions import Pairs
    from elasticrec.space.composition import Composition, Menu


@dataclass(frozen=True, eq=False)
class CodedModel:
    """What a coded model ranks with."""

    codes: Codes
    """Every item's planes."""
    neighbours: Neighbours
    """Every item's neighbours."""
    menu: Menu
    """The rows that groups may have."""
    mixing: Mixing
    """What a vote counts under each row of the menu."""
    users: np.ndarray | None = None
    """(U, D) trained user vectors, as the table holds them; None for a `history` model."""
    fold_map: np.ndarray | None = None
    """(D, D) the table's map from a sum of item vectors to a user vector."""

    def __post_init__(self) -> None:
        V, N = self.codes.n_items, self.codes.n_blocks
        if self.neighbours.n_items != V:
            raise InputError(f"neighbours of {self.neighbours.n_items} items, codes of {V}")
        if self.menu.n_blocks != N:
            raise InputError(f"a menu of {self.menu.n_blocks} blocks, codes of {N}")
        check_lists(self.menu.neighbours, self.neighbours)
        if len(self.mixing.weights) != self.menu.n_rows:
            raise InputError(
                f"mixing weights of {len(self.mixing.weights)} rows, a menu of {self.menu.n_rows}"
            )

    @property
    def person(self) -> str:
        """The kind of person it serves best: `vector+history` where it has user vectors."""
        return "history" if self.users is None else "vector+history"


class CodedScores:
    """`RowScores` of a coded model for persons with given vectors and histories."""

    def __init__(
        self,
        model: CodedModel,
        vectors: np.ndarray,
        histories: Pairs,
        person: str,
        *,
        device: str = "cpu",
    ) -> None:
        """Scores of so many persons.

        Args:
            vectors: (n, D) as `evaluation.persons` gives them.
            histories: n users: what each person has taken, which votes.
            person: their kind, `vector+history` or `history`, which chooses the mixing weights.
            device: `auto`, `cpu` or `cuda`.
        """
        D = model.codes.dimensions
        if vectors.shape != (histories.n_users, D):
            found = f"vectors of shape {vectors.shape} for {histories.n_users} histories"
            raise InputError(f"{found}, expected ({histories.n_users}, {D})")
        self.device = pick_device(device)
        self.bounds = np.asarray(model.codes.bounds)
        self.n_users = len(vectors)
        self._vectors = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(self.device)
        self._decoder = Decoder(model.codes, self.device)
        self._votes = Votes(model.neighbours, self.bounds, histories, self.device)
        self._row_of = model.menu.lookup()
        self._weights = model.mixing.column(person).astype(np.float64)
        scale = np.sqrt(np.maximum(histories.per_user, 1)) if model.mixing.by_root else 1.0
        self._divisor = np.broadcast_to(scale, (self.n_users,))
        self._kept = threading.local()

    def with_vectors(self, vectors: np.ndarray) -> CodedScores:
        """The same for the same persons with other vectors (n, D)."""
        if vectors.shape != tuple(self._vectors.shape):
            raise InputError(
                f"vectors of shape {vectors.shape}, expected {tuple(self._vectors.shape)}"
            )
        other = copy(self)
        other._vectors = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(self.device)
        other._kept = threading.local()
        return other

    def write(
        self, out: Tensor, group: int, depths: np.ndarray, neighbours: int, start: int, stop: int
    ) -> None:
        """Fill `out` (stop - start, |V_g|) with the scores of one group under one row."""
        if not neighbours and not depths.any():
            out.fill_(-torch.inf)
            return
        out.copy_(self.dense(group, depths, start, stop))
        if neighbours:
            cast = self._votes.cast(group, neighbours, start, stop)
            c = self._weights[self._row(depths, neighbours)] / self._divisor[start:stop]
            factors = torch.from_numpy(c.astype(np.float32)).to(self.device)
            out[cast.users, cast.items] += factors[cast.users] * cast.votes

    def dense(self, group: int, depths: np.ndarray, start: int, stop: int) -> Tensor:
        """(stop - start, |V_g|) scores without votes; the caller must not change them.

        The latest are kept, by every thread for itself: rows of a menu that differ in nothing but
        their neighbours follow each other.
        """
        key = group, depths.tobytes(), start, stop
        if getattr(self._kept, "key", None) != key:
            users = self._vectors[start:stop]
            if depths.any():
                scores = users @ self._decoder.vectors(group, depths).T
            else:
                width = int(self.bounds[group + 1] - self.bounds[group])
                scores = (users @ self._decoder.mean(group)).unsqueeze(1).expand(-1, width)
            self._kept.key, self._kept.scores = key, scores
        found: Tensor = self._kept.scores
        return found

    def all_dense(self, depths: np.ndarray, start: int, stop: int) -> Tensor:
        """(stop - start, V) scores without votes if all groups have the same depths."""
        groups = range(len(self.bounds) - 1)
        return torch.cat([self.dense(g, depths, start, stop) for g in groups], dim=1)

    def all_votes(self, count: int, start: int, stop: int) -> Cast:
        """Votes for items by their numbers, if all groups keep as many neighbours."""
        casts = [self._votes.cast(g, count, start, stop) for g in range(len(self.bounds) - 1)]
        return Cast(
            torch.cat([cast.users for cast in casts]),
            torch.cat([c.items + int(lo) for c, lo in zip(casts, self.bounds[:-1], strict=True)]),
            torch.cat([cast.votes for cast in casts]),
        )

    def _row(self, depths: np.ndarray, neighbours: int) -> int:
        """The menu's row of these depths and neighbours; any other is refused."""
        row = self._row_of.get(depths.astype(np.uint8).tobytes() + bytes([neighbours]))
        if row is None:
            raise InputError(
                f"depths {depths.tolist()} with {neighbours} neighbours are no row of the menu, "
                "so there is no weight for their votes"
            )
        return row


def score_reference(
    model: CodedModel,
    composition: Composition,
    vector: np.ndarray,
    history: Collection[int],
    person: str,
    item: int,
) -> float:
    """One item's score for one person, number by number as the page says: the slow twin.

    Args:
        vector: (D,) the person's.
        history: the distinct items she has taken.
    """
    codes, near = model.codes, model.neighbours
    group = codes.group_of(item, item + 1)
    depths, count = composition.depths[group], int(composition.neighbours[group])
    if not count and not any(depths):
        return -math.inf
    score = sum(u * x for u, x in zip(vector, decode_item(codes, item, depths), strict=True))
    slots = zip(near.numbers[item, :count], near.weights[item, :count], strict=True)
    votes = sum(float(near.values[w]) for j, w in slots if w and int(j) in history)
    if not votes:
        return float(score)
    c = float(model.mixing.column(person)[model.menu.choice_of(composition)[group]])
    return float(score) + c / (math.sqrt(len(history)) if model.mixing.by_root else 1.0) * votes
