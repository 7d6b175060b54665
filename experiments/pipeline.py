"""From a split to searched compositions, in any setting: ours, the paper's, or one part changed.

`trained` trains once; `Ready` groups, codes and estimates, and then answers budgets. Both keep what
they made in a folder where one is given, so that a run that was cut off goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.blocks.folder import ModelFolder
from elasticrec.space.budget import Budget
from elasticrec.space.composition import Composition
from experiments.plans import Plan, limited_menu

if TYPE_CHECKING:
    from elasticrec.customizing import Customizer
    from elasticrec.data.splitting import Split
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.questions import Part
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.rule.problem import Found, Quality
    from elasticrec.training.loop import Trained


def trained(split: Split, plan: Plan, device: str, place: Path | None = None) -> Trained:
    """What the plan's training leaves; kept in a folder, and taken from there, where one is given.

    A training under way is kept too, once a minute.
    """
    from elasticrec.training.table import BlockTable
    from elasticrec.training.checkpoint import load_checkpoint
    from elasticrec.training.loop import Trained, train

    if place is None:
        return train(split, plan.preset.train, device=device)
    place.mkdir(parents=True, exist_ok=True)
    table, checkpoint = place / "trained.safetensors", place / "checkpoint.safetensors"
    if table.exists() and checkpoint.exists():
        _, progress = load_checkpoint(checkpoint, plan.preset.train, split.fingerprint())
        return Trained(BlockTable.load(table), None, progress)
    done = train(split, plan.preset.train, device=device, checkpoint=checkpoint, resume=True)
    done.table.save(table)
    return done


class Ready:
    """A trained model that is grouped and has an estimator, and codes where the plan has them."""

    def __init__(
        self,
        split: Split,
        done: Trained,
        plan: Plan,
        place: Path,
        *,
        device: str = "auto",
        threads: int = 1,
    ) -> None:
        """Make what the folder `place` does not hold yet."""
        from elasticrec.training.model import finish

        self.plan, self.device, self.threads = plan, device, threads
        self.folder = ModelFolder.create(place)
        self.training_seconds = done.progress.seconds
        if not self.folder.has("groups"):
            finish(split, done, plan.preset.train, plan.preset.space).save(self.folder)
        self._timed("coding_seconds", self._code)
        self._timed("estimating_seconds", self._estimate)
        self.split = self.folder.split()

    @property
    def once_seconds(self) -> float:
        """Seconds of all that is done once, whatever the budgets: training, codes, estimator."""
        about = self.folder.about
        return float(self.training_seconds + about["coding_seconds"] + about["estimating_seconds"])

    def _timed(self, name: str, work: Any) -> None:
        """Do one part of the work and keep its seconds beside the model; or it is done already."""
        if name not in self.folder.about:
            started = time.perf_counter()
            work()
            self.folder.describe(**{name: time.perf_counter() - started})

    def _code(self) -> None:
        from elasticrec.storing import StoringConfig, store

        if not self.plan.coded:
            return
        config = StoringConfig(metric=self.plan.preset.samples.metric, even=self.plan.even)
        if self.plan.rows != "all" and not self.folder.has("menu"):
            self.folder.describe(storing=asdict(config))  # so that this menu stays
            self.folder.save_part("menu", limited_menu(self.folder.table(), self.plan.rows))
        store(self.folder, config, device=self.device)

    def _estimate(self) -> None:
        from elasticrec.search.estimating import estimate_model

        chosen = self.plan.preset
        estimate_model(
            self.folder,
            chosen.samples,
            chosen.estimator,
            accounting="file" if self.plan.coded else "paper",
            workers=self.threads,
            device=self.device,
        )

    def found(self, budgets: Sequence[Budget]) -> list[tuple[Budget, Found, int]]:
        """The composition found for each budget, and all bytes a device needs to rank with it."""
        from elasticrec.search.answers import answer_budgets
        from elasticrec.search.searcher import Searcher

        search, seed = self.plan.preset.search, self.plan.preset.train.seed
        if not self.plan.coded:
            space = self.plan.preset.space
            mask = -(-space.n_groups * self.plan.preset.train.n_blocks // 8)
            granted = {Budget(budget.n_bytes - mask): budget for budget in budgets}
            answers = answer_budgets(
                Searcher(self.folder), list(granted), search, seed=seed, controls=()
            )
            return [(granted[a.budget], a.searched, a.searched.n_bytes + mask) for a in answers]
        made = self._customizer.customize(
            budgets, search, seed=seed, evaluate=self._quality, measured=self.plan.measured
        )
        return [(each.budget, each.found, each.found.n_bytes) for each in made]

    @cached_property
    def _customizer(self) -> Customizer:
        from elasticrec.customizing import Customizer

        return Customizer(self.folder, ids="none")

    @cached_property
    def _quality(self) -> Quality | None:
        """Counts what validation says, once for all budgets."""
        from elasticrec.search.measuring import quality_to_search_by

        return quality_to_search_by(
            self._customizer.searcher,
            self.plan.preset.search,
            measured=self.plan.measured,
            many=self.plan.preset.search.refine > 0,
            device=self.device,
        )

    @property
    def persons(self) -> tuple[str, ...]:
        """The kinds of person the model serves, the main one first."""
        if not self.plan.coded:
            return ("vector",)
        has_vectors = self.folder.table().users is not None
        return ("vector+history", "history") if has_vectors else ("history",)

    def evaluation(
        self,
        composition: Composition,
        part: Part,
        metrics: Iterable[str],
        person: str | None = None,
    ) -> Evaluation:
        """How a composition ranks, each user's values kept."""
        if self.plan.coded:
            from elasticrec.evaluation.device_path import measure_composition

            return measure_composition(
                self._model, composition, self.split, person=person, part=part,
                metrics=metrics, device=self.device, keep_per_user=True,
            )  # fmt: skip
        from elasticrec.evaluation.ranking import evaluate

        return evaluate(
            self.kept(composition), self.split, part=part,
            metrics=metrics, device=self.device, keep_per_user=True,
        )  # fmt: skip

    @cached_property
    def _model(self) -> CodedModel:
        from elasticrec.storing import load_coded

        return load_coded(self.folder)

    def kept(self, composition: Composition) -> Any:
        """The table as a composition of whole blocks leaves it."""
        from elasticrec.space.keeping import kept_table
        from elasticrec.space.regroup import load_groups

        groups = load_groups(self.folder)
        printed = self.plan.preset.space.as_printed
        return kept_table(self.folder.table(), groups, composition, width_correction=printed)
