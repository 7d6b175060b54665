"""Versions: one model as compositions leave it; they are evaluated, and recommend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec_demo.runtime import device_runtime
from elasticrec_demo.report.story import Listed, Measured, Person
from elasticrec.space.budget import FLOAT_BYTES
from elasticrec.space.keeping import kept_table

if TYPE_CHECKING:
    from pathlib import Path

    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.model import Id, Model
    from elasticrec.rule.problem import Found
    from elasticrec.search.searcher import Searcher
    from elasticrec.space.composition import Composition


MUCH = 40
"""Known items of a user whose lists can tell something."""
HITS = 2
"""Hidden items that her full list should name."""
TRIED = 100
"""Users looked at before settling for one with fewer."""


class Versions:
    """A model of a searcher under any composition, or whole (None); each is evaluated once."""

    def __init__(self, model: Model, searcher: Searcher, metrics: Iterable[str]) -> None:
        self.model = model
        self.searcher = searcher
        self.metrics = list(metrics)
        self._evaluated: dict[Composition | None, tuple[dict[str, float], float]] = {}

    @cached_property
    def coded(self) -> CodedModel:
        """The model as a device has it."""
        from elasticrec.storing import load_coded

        return load_coded(self.searcher.folder)

    def under(self, composition: Composition | None) -> Model:
        """The model as a composition of whole blocks leaves it."""
        if composition is None:
            return self.model
        table = kept_table(
            self.model.table,
            self.searcher.groups,
            composition,
            width_correction=self.searcher.space.as_printed,
        )
        return replace(self.model, table=table)

    def evaluate(self, composition: Composition | None, device: str = "auto") -> None:
        """Measure a composition on everyone with test items, unless that was done before."""
        if composition not in self._evaluated:
            found = self._evaluation(composition, device)
            self._evaluated[composition] = found.metrics, found.coverage

    def _evaluation(self, composition: Composition | None, device: str) -> Evaluation:
        """Coded compositions the way a device ranks, whole blocks by their products."""
        split = self.model.split
        if composition is None or self.searcher.accounting_name == "paper":
            from elasticrec.evaluation.ranking import evaluate

            table = self.under(composition).table
            return evaluate(table, split, metrics=self.metrics, device=device)
        from elasticrec.evaluation.device_path import measure_composition

        return measure_composition(
            self.coded, composition, split,
            person=self.searcher.person, metrics=self.metrics, device=device,
        )  # fmt: skip

    def measured(self, method: str, composition: Composition | None) -> Measured:
        """A composition that was evaluated, with its bytes and quality."""
        metrics, coverage = self._evaluated[composition]
        table = self.model.table
        if composition is None:
            n_bytes = FLOAT_BYTES * table.dimensions * (table.n_items + 1)
            n_blocks = self.searcher.groups.n_groups * table.n_blocks
        else:
            n_bytes = self.searcher.accounting.size(composition)
            n_blocks = int(composition.kept.sum())
        return Measured(method, n_bytes, n_blocks, metrics, coverage)

    def measured_way(self, found: Found) -> Measured:
        """What a method found, if it was evaluated."""
        way = self.measured(found.method, found.composition)
        return replace(way, estimate=found.estimate, seconds=found.seconds)

    def listed(self, composition: Composition | None, person: int, k: int) -> tuple[Listed, ...]:
        """What the trainer recommends to a user whose test items nobody knows yet."""
        model = self.under(composition)
        split = model.split
        nothing = Pairs(np.zeros_like(split.test.indptr), split.test.items[:0], split.n_items)
        before = replace(model, split=replace(split, test=nothing))
        chosen = before.recommend(split.user_ids.of_number(person), k=k)
        return self._marked([each.id for each in chosen], person)

    def listed_on_device(
        self, bundle: Path, vector: Path | None, person: int, k: int
    ) -> tuple[Listed, ...]:
        """What a bundle recommends, by the device runtime, from her history and her vector.

        Args:
            vector: the file with her vector from the server; None for a model that has none.
        """
        history = self.model.split.item_ids.take(self._known(person)).values.tolist()
        with device_runtime().open(bundle) as device:
            found = device.recommend(history=history, user=vector, k=k)
            return self._marked([each.id for each in found], person)

    def vector_file(self, person: int) -> bytes:
        """A user's vector as the server sends it."""
        from elasticrec.stream.person import vector_file

        users = self.coded.users
        assert users is not None
        return vector_file(users[person], self.coded.codes, self.searcher.folder.model_id)

    def _known(self, person: int) -> np.ndarray:
        """Numbers of what a user took in train and validation."""
        split = self.model.split
        return np.concatenate([split.train.of(person), split.validation.of(person)])

    def _marked(self, ids: list[Id], person: int) -> tuple[Listed, ...]:
        """Items by their titles, or ids where there are none; those hidden of her are marked."""
        split = self.model.split
        wanted = set(split.item_ids.take(split.test.of(person)).values.tolist())
        numbers = split.item_ids.numbers(ids)
        titles = ids if split.titles is None else split.titles[numbers].tolist()
        return tuple(
            Listed(str(title or name), name in wanted)
            for title, name in zip(titles, ids, strict=True)
        )

    def first_telling(self, k: int) -> int:
        """The first user with 40 known items, two hidden ones of whom stand in her full list.

        She illustrates; nothing is measured by her. Where there is none, the one with the most.
        """
        split = self.model.split
        known = split.train.per_user + split.validation.per_user
        users = np.flatnonzero((known >= min(MUCH, known.max())) & (split.test.per_user > 0))
        hits = np.zeros(len(users), dtype=np.int64)
        for place, user in enumerate(users[:TRIED].tolist()):
            hits[place] = sum(each.wanted for each in self.listed(None, user, k))
            if hits[place] >= HITS:
                break
        return int(users[hits.argmax()]) if len(users) else int(known.argmax())

    def person(self, number: int, *, named: bool) -> Person:
        """Who a user is: her id, what is known of her, how much was hidden, why it is her."""
        split = self.model.split
        known = self._known(number)
        ids = split.item_ids.take(known).values.tolist()
        titles = ids if split.titles is None else split.titles[known]
        return Person(
            split.user_ids.of_number(number),
            tuple(str(title or name) for title, name in zip(titles, ids, strict=True)),
            len(split.test.of(number)),
            named,
        )
