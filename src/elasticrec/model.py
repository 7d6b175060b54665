"""Model: a trained table with its split, which recommends in original ids."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.scoring import effective, fold_users
from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.toplist import top_items, top_list
from elasticrec.space.groups import Groups

if TYPE_CHECKING:
    from elasticrec.training.cooccurrence import Cooccurrence
    from elasticrec.training.table import BlockTable
    from elasticrec.data.ids import Ids
    from elasticrec.data.split import Split

log = logging.getLogger(__name__)

Id = int | str


@dataclass(frozen=True)
class Recommendation:
    """One item of a list."""

    id: Id
    """The item's original id."""
    score: float
    """What the list is sorted by, highest first; comparable within one list only."""
    title: str | None = None
    """The item's title, where known."""


@dataclass(frozen=True)
class Model:
    """What training leaves behind and a model folder holds."""

    split: Split
    """What it was trained on, with the original ids."""
    table: BlockTable
    """Its users and item blocks."""
    cooccurrence: Cooccurrence | None = None
    """Each item's co-occurring items, where training used them."""
    groups: Groups | None = None
    """The groups by which the items are numbered."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Facts kept beside it: settings, seconds, the date of the training."""

    def __str__(self) -> str:
        split, table = self.split, self.table
        return (
            f"{split.name}: {split.n_users:,} users, {split.n_items:,} items; "
            f"{table.base}, {table.n_blocks} blocks of {table.block_size}"
        )

    @classmethod
    def load(cls, folder: Path | str) -> Model:
        """The model in a folder."""
        opened = ModelFolder.open(folder)
        groups = None
        if opened.has("groups"):
            opened.check("groups")
            groups = Groups.load(opened.path("groups"))
        parts = opened.split(), opened.table(), opened.cooccurrence()
        return cls(*parts, groups, opened.about)

    def save(self, folder: ModelFolder | Path | str) -> None:
        """Write all parts into a model folder, a new one where only its path is given."""
        opened = folder if isinstance(folder, ModelFolder) else ModelFolder.create(folder)
        opened.save_model(self.split, self.table, self.cooccurrence)
        if self.groups is not None:
            self.groups.save(opened.path("groups"))
            opened.record("groups", self.groups.fingerprint(), ("split", "table"))
        opened.describe(**self.about)

    def recommend(
        self,
        user: Id | None = None,
        *,
        items: Iterable[Id] | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
    ) -> list[Recommendation]:
        """The k best items for a user of the data, or for anyone who took some items.

        What the user is known to have taken (in any part of the split), what stands in `items`
        and what stands in `exclude` is not listed. All ids are original ones; unknown items are
        skipped, and a warning is logged.
        """
        _check_length(k)
        if (user is None) == (items is None):
            raise InputError("expected a user or a list of items, and not both")
        if items is not None:
            taken = self._items_numbered(items, "history")
            if not len(taken):
                expected = _examples(self.split.item_ids)
                raise InputError(f"none of the items given is known; {expected}")
            history = Pairs(np.array([0, len(taken)]), taken, self.split.n_items)
            vectors = self.table.fold_in(history)
        else:
            number = self._users_numbered([user])
            taken, vectors = self._taken(number).items, self._user_vectors(number)
        hidden = np.concatenate([taken, self._items_numbered(exclude, "excluded")])
        scores = self._scores(vectors)[0]
        chosen = top_list(scores, k, hidden)
        return self._listed(chosen, scores[chosen])

    def recommend_users(
        self, users: Iterable[Id] | None = None, *, k: int = 20, batch_size: int = 256
    ) -> Iterator[tuple[Id, list[Recommendation]]]:
        """Each user's id and her k best items, as `recommend` gives them; by default everyone's."""
        import torch

        _check_length(k)
        ids = self.split.user_ids
        numbers = np.arange(len(ids)) if users is None else self._users_numbered(users)
        for start in range(0, len(numbers), batch_size):
            some = numbers[start : start + batch_size]
            scores = torch.from_numpy(self._scores(self._user_vectors(some)))
            best = top_items(scores, k, self._taken(some))
            for number, chosen, values in zip(some, best.items, best.scores, strict=True):
                kept = chosen >= 0
                yield (
                    ids.of_number(number),
                    self._listed(chosen[kept].numpy(), values[kept].numpy()),
                )

    def similar(self, item: Id, k: int = 20) -> list[Recommendation]:
        """The k items whose vectors point most nearly the same way; scores are cosines."""
        _check_length(k)
        number = self.split.item_ids.numbers([item])
        if number[0] < 0:
            raise InputError(f"unknown item {item!r}; {_examples(self.split.item_ids)}")
        E = self._item_vectors()
        E = E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-12)
        cosines = E @ E[number[0]]
        chosen = top_list(cosines, k, number)
        return self._listed(chosen, cosines[chosen])

    def _item_vectors(self) -> np.ndarray:
        """(V, k) item vectors as they meet users."""
        return effective(replace(self.table, users=None))[1]

    def _user_vectors(self, numbers: np.ndarray) -> np.ndarray:
        """(n, D) vectors of users of the data; without a user table, folded in from train."""
        if self.table.users is None:
            return self.table.fold_in(self.split.train.rows(numbers))
        return self.table.users[numbers]

    def _scores(self, vectors: np.ndarray) -> np.ndarray:
        """(n, V) scores of all items for persons (n, D)."""
        folded = fold_users(vectors, self.table.block_size, self.table.score)
        return folded @ self._item_vectors().T

    def _taken(self, numbers: np.ndarray) -> Pairs:
        """Everything that some users are known to have taken."""
        split = self.split
        some = split.train.rows(numbers).union(split.validation.rows(numbers))
        return some.union(split.test.rows(numbers))

    def _users_numbered(self, users: Iterable[Id | None]) -> np.ndarray:
        """The numbers of original user ids; an unknown one is refused."""
        listed, ids = list(users), self.split.user_ids
        numbers = ids.numbers(listed)
        if np.any(numbers < 0):
            first = listed[int(np.argmax(numbers < 0))]
            raise InputError(f"unknown user {first!r}; {_examples(ids)}, or a list of items")
        return numbers

    def _items_numbered(self, items: Iterable[Id], role: str) -> np.ndarray:
        """The distinct numbers of original item ids, ascending; unknown ones are skipped."""
        listed = list(items)
        numbers = self.split.item_ids.numbers(listed)
        unknown = numbers < 0
        if unknown.any():
            first = listed[int(np.argmax(unknown))]
            log.warning(
                "skipped %d of %d %s items as unknown, the first is %r",
                unknown.sum(), len(listed), role, first,
            )  # fmt: skip
        return np.unique(numbers[~unknown])

    def _listed(self, items: np.ndarray, scores: np.ndarray) -> list[Recommendation]:
        """Recommendations of item numbers and their scores, with ids and titles."""
        ids, titles = self.split.item_ids, self.split.titles
        return [
            Recommendation(
                ids.of_number(item), score, None if titles is None else titles[item] or None
            )
            for item, score in zip(items.tolist(), scores.tolist(), strict=True)
        ]


def _check_length(k: int) -> None:
    if k < 1:
        raise InputError(f"k is {k}, expected 1 or more")


def _examples(ids: Ids) -> str:
    """What was expected instead of an unknown id: some known ones."""
    some = ", ".join(repr(value) for value in ids.values[:3].tolist())
    return f"expected one of {len(ids):,} known ids such as {some}"
