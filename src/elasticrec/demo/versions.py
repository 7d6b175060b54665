"""Versions: one model as compositions leave it; they are evaluated, and recommend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.report.story import Listed, Measured, Person
from elasticrec.space.keeping import kept_table

if TYPE_CHECKING:
    from elasticrec.model import Model
    from elasticrec.search.problem import Found
    from elasticrec.search.searcher import Searcher
    from elasticrec.space.composition import Composition


MUCH = 40
"""Known items of a user whose lists can tell something."""
HITS = 2
"""Hidden items that her full list should name."""
TRIED = 100
"""Users looked at before settling for one with fewer."""


class Versions:
    """A model of a searcher under any composition; each is evaluated once."""

    def __init__(self, model: Model, searcher: Searcher, metrics: Iterable[str]) -> None:
        self.model = model
        self.searcher = searcher
        self.metrics = list(metrics)
        self._evaluated: dict[Composition, tuple[dict[str, float], float]] = {}

    def under(self, composition: Composition) -> Model:
        """The model as a composition leaves it."""
        table = kept_table(
            self.model.table,
            self.searcher.groups,
            composition,
            width_correction=self.searcher.space.as_printed,
        )
        return replace(self.model, table=table)

    def evaluate(self, composition: Composition, device: str = "auto") -> None:
        """Measure a composition on everyone with test items, unless that was done before."""
        from elasticrec.evaluation.ranking import evaluate

        if composition not in self._evaluated:
            table, split = self.under(composition).table, self.model.split
            found = evaluate(table, split, metrics=self.metrics, device=device)
            self._evaluated[composition] = found.metrics, found.coverage

    def measured(self, method: str, composition: Composition) -> Measured:
        """A composition that was evaluated, with its bytes and quality."""
        metrics, coverage = self._evaluated[composition]
        n_bytes = self.searcher.accounting.size(composition)
        return Measured(method, n_bytes, int(composition.kept.sum()), metrics, coverage)

    def measured_way(self, found: Found) -> Measured:
        """What a method found, if it was evaluated."""
        way = self.measured(found.method, found.composition)
        return replace(way, estimate=found.estimate, seconds=found.seconds)

    def listed(self, composition: Composition, person: int, k: int) -> tuple[Listed, ...]:
        """What a composition recommends to a user whose test items nobody knows yet."""
        model = self.under(composition)
        split = model.split
        nothing = Pairs(np.zeros_like(split.test.indptr), split.test.items[:0], split.n_items)
        before = replace(model, split=replace(split, test=nothing))
        wanted = set(split.item_ids.take(split.test.of(person)).values.tolist())
        return tuple(
            Listed(each.title or str(each.id), each.id in wanted)
            for each in before.recommend(split.user_ids.of_number(person), k=k)
        )

    def first_telling(self, whole: Composition, k: int) -> int:
        """The first user with 40 known items, two hidden ones of whom stand in her full list.

        She illustrates; nothing is measured by her. Where there is none, the one with the most.
        """
        split = self.model.split
        known = split.train.per_user + split.validation.per_user
        users = np.flatnonzero((known >= min(MUCH, known.max())) & (split.test.per_user > 0))
        hits = np.zeros(len(users), dtype=np.int64)
        for place, user in enumerate(users[:TRIED].tolist()):
            hits[place] = sum(each.wanted for each in self.listed(whole, user, k))
            if hits[place] >= HITS:
                break
        return int(users[hits.argmax()]) if len(users) else int(known.argmax())

    def person(self, number: int, *, named: bool) -> Person:
        """Who a user is: her id, what is known of her, how much was hidden, why it is her."""
        split = self.model.split
        known = np.concatenate([split.train.of(number), split.validation.of(number)])
        ids = split.item_ids.take(known).values.tolist()
        titles = ids if split.titles is None else split.titles[known]
        return Person(
            split.user_ids.of_number(number),
            tuple(str(title or name) for title, name in zip(titles, ids, strict=True)),
            len(split.test.of(number)),
            named,
        )
