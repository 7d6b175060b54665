"""A demo from beginning to end: prepare, train, estimate, search, measure, recommend."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.customizing import Customizer
from elasticrec.errors import InputError
from elasticrec.files import fingerprint
from elasticrec_demo.stages import (
    estimated,
    prepared,
    stage_estimated,
    stage_prepared,
    stage_stored,
    stage_trained,
    stored,
    trained,
)
from elasticrec_demo.versions import Versions
from elasticrec.model import Model
from elasticrec_demo.report.story import Agreement, Fit, Listed, Stage, Story
from elasticrec.search.answers import ALWAYS, answer_budgets
from elasticrec.search.measuring import validation_quality
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.version import __version__

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec_demo.config import DemoConfig
    from elasticrec_demo.folder import DemoFolder
    from elasticrec_demo.narrator import Narrator
    from elasticrec.rule.estimator.model import Estimator
    from elasticrec.search.answers import Answer


def tell(place: DemoFolder, config: DemoConfig, narrator: Narrator) -> Story:
    """The story of a source, after every stage was done or found done; also saved as JSON."""
    settings = config.settings
    narrator.step("Prepare", "read who took what; hide a tenth to choose by, a fifth to test")
    started = time.perf_counter()
    split = prepared(place, config)
    stages = [stage_prepared(split, time.perf_counter() - started)]
    narrator.say(stages[-1].about)
    budgets, person = config.budgets_of(split), config.person_of(split)

    narrator.step(
        "Train", f"learn {settings.train.n_blocks} blocks of numbers for every item, once"
    )
    folder = trained(place, split, config, narrator)
    stages.append(stage_trained(folder))
    narrator.say(f"{stages[-1].about}, in {stages[-1].seconds:.0f} s")

    if config.packs:
        narrator.step("Code", "turn every item into planes, and list the items that vote for it")
        stored(folder, config, narrator)
        stages.append(stage_stored(folder))
        narrator.say(f"{stages[-1].about}, in {stages[-1].seconds:.0f} s")

    narrator.step("Estimate", "measure many ways to keep less; learn to foretell the others")
    estimator = estimated(folder, config, narrator)
    stages.append(stage_estimated(folder, estimator))
    narrator.say(f"{stages[-1].about}, in {stages[-1].seconds:.0f} s")

    sizes = ", ".join(map(str, budgets))
    narrator.step("Search", f"what should each group of items keep within {sizes}?")
    key = _key(folder, config, budgets, person)
    try:
        story = Story.load(place.story, key=key)
    except InputError:
        story = None
    if story is not None:
        narrator.say(f"found in {place.story}, of the same model and settings: taken as it is")
        return story
    told = _Telling(place, folder, config, narrator, stages)
    story = told.story(estimator, budgets, person)
    story.save(place.story, key=key)
    return story


def _key(
    folder: ModelFolder, config: DemoConfig, budgets: tuple[Budget, ...], person: int | None
) -> str:
    """A hash of all that the rest of the story depends on."""
    chosen = config.settings
    depends = (
        folder.model_id,
        folder.fingerprint("split"),
        folder.fingerprint("estimator"),
        asdict(chosen.search),
        budgets,
        person,
        config.k,
        config.seed,
        __version__,
    )
    return fingerprint({"depends": np.array(repr(depends))})


class _Telling:
    """The search and what comes after it, for one model."""

    def __init__(
        self,
        place: DemoFolder,
        folder: ModelFolder,
        config: DemoConfig,
        narrator: Narrator,
        stages: list[Stage],
    ) -> None:
        self.place, self.config, self.narrator, self.stages = place, config, narrator, stages
        self.customizer = Customizer(folder, ids="original") if config.packs else None
        searcher = Searcher(folder) if self.customizer is None else self.customizer.searcher
        self.searcher = searcher
        self.model = Model.load(folder.root)
        metrics = dict.fromkeys([searcher.metric, "recall@20", "ndcg@20"])
        self.versions = Versions(self.model, searcher, metrics)

    def story(self, estimator: Estimator, budgets: tuple[Budget, ...], person: int | None) -> Story:
        """All of it."""
        answers = self._answers(budgets)
        self._measure(answers)
        by = "on a device, from each bundle alone" if self.customizer else "at every budget"
        self.narrator.step("Recommend", f"lists for one person, {by}")
        started = time.perf_counter()
        k, split, groups = self.config.k, self.model.split, self.searcher.groups
        named = person is not None
        if person is None:
            person = self.versions.first_telling(k)
        fits = tuple(self._fit(answer, person) for answer in answers)
        full_listed = self.versions.listed(None, person, k)
        self._done("recommend", f"{k} items at each of {len(fits)} budgets", started)
        return Story(
            dataset=split.name,
            n_users=split.n_users,
            n_items=split.n_items,
            n_interactions=len(split.train) + len(split.validation) + len(split.test),
            metric=self.searcher.metric,
            group_kind=groups.kind,
            group_sizes=tuple(groups.sizes.tolist()),
            full=self.versions.measured("full", None),
            full_listed=full_listed,
            fits=fits,
            person=self.versions.person(person, named=named),
            agreements=_agreements(estimator),
            stages=tuple(self.stages),
            model_id=self.searcher.folder.model_id,
            version=__version__,
        )

    def _answers(self, budgets: tuple[Budget, ...]) -> list[Answer]:
        """What the search and all controls found; the searched compositions are saved."""
        started, searcher = time.perf_counter(), self.searcher
        config, seed = self.config.settings.search, self.config.seed
        menu = not searcher.free  # without one, measuring every step takes too long
        climb = menu and self.customizer is None  # a menu of depths and neighbours has many steps
        with self.narrator.counting("budgets"):
            answers = answer_budgets(
                searcher,
                budgets,
                config,
                seed=seed,
                controls=(*ALWAYS, "greedy-measured") if climb else ALWAYS,
                evaluate=validation_quality(searcher, many=menu, device=self.config.device),
            )
        self.place.compositions.mkdir(exist_ok=True)
        for answer in answers:
            found, budget = answer.searched, answer.budget
            found.composition.save(
                self.place.compositions / f"{str(budget).replace(' ', '')}.json",
                model_id=searcher.folder.model_id,
                about=searcher.about(found, budget, search=asdict(config), seed=seed),
            )
        took = ", ".join(f"{answer.searched.seconds * 1e3:.0f} ms" for answer in answers)
        self._done("search", f"{len(answers)} budgets, found in {took}; then the controls", started)
        return answers

    def _measure(self, answers: list[Answer]) -> None:
        """Evaluate all that was found on the test part, which is read only now."""
        self.narrator.step("Measure", "rank every unseen item for everyone with hidden items")
        started = time.perf_counter()
        found = [each for answer in answers for each in (answer.searched, *answer.controls)]
        distinct = dict.fromkeys([None, *(each.composition for each in found)])
        with self.narrator.counting("compositions ranked") as progress:
            progress(0, len(distinct))
            for composition in distinct:
                self.versions.evaluate(composition, self.config.device)
                progress(1, len(distinct))
        n = np.count_nonzero(self.model.split.test.per_user)
        self._done("measure", f"{len(distinct)} compositions on {n:,} users", started)

    def _fit(self, answer: Answer, person: int) -> Fit:
        """What a budget holds."""
        composition = answer.searched.composition
        by_energy = composition.depths[:, self.searcher.order].tolist()
        return Fit(
            str(answer.budget),
            tuple(map(self.versions.measured_way, (answer.searched, *answer.controls))),
            tuple(map(tuple, by_energy)),
            self._listed(answer, person),
            tuple(composition.neighbours.tolist()),
        )

    def _listed(self, answer: Answer, person: int) -> tuple[Listed, ...]:
        """What a person is recommended: by a device with its bundle, where there are bundles."""
        k, bundles = self.config.k, self.place.bundles
        if self.customizer is None:
            return self.versions.listed(answer.searched.composition, person, k)
        bundles.mkdir(exist_ok=True)
        made = self.customizer.packed(answer.budget, answer.searched)
        path = made.write(bundles / f"{str(answer.budget).replace(' ', '')}.elastic")
        vector = None
        if self.searcher.person == "vector+history":
            vector = bundles / "person.vector"
            vector.write_bytes(self.versions.vector_file(person))
        return self.versions.listed_on_device(path, vector, person, k)

    def _done(self, name: str, about: str, started: float) -> None:
        """Note a stage that just ended."""
        self.stages.append(Stage(name, about, time.perf_counter() - started))
        self.narrator.say(f"{about}, in {self.stages[-1].seconds:.1f} s")


def _agreements(estimator: Estimator) -> tuple[Agreement, ...]:
    """The two-fold check of an estimator, and its ranking within each held-out budget."""
    about = estimator.about
    overall = Agreement("all sizes, two-fold", about["n_samples"], about["two_fold"]["spearman"])
    within = about["within"].items()
    return overall, *(Agreement(name, each["n"], each["spearman"]) for name, each in within)
