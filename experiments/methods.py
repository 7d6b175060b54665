"""The methods of Table 2 under one roof: ours, the paper's by the library, and the baselines.

A task is one method with one setting and one seed at some sizes; `measured` gives what came out
at each. Ours and the paper's train once and then answer each budget; baselines fit each anew.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.errors import InputError
from elasticrec.data.splitting import Split
from experiments import pipeline
from experiments.equal_bytes import PRINTED, SMALL, TINY, budget_for
from experiments.lines import config_hash
from experiments.tasks import CHOOSER, LIBRARY, ONCE, OURS, RULE_TRIALS, SCORES, Task, plan_of

if TYPE_CHECKING:
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.rule.problem import Found
    from elasticrec.space.budget import Budget
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Trained
    from experiments.plans import Plan

RIVALS = "rivals"
"""All methods but ours, in a list of methods."""
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg") for k in (20, 50, 100))


@dataclass(frozen=True, eq=False)
class Measured:
    """What one method is worth at one size, for one kind of person."""

    nominal_mb: float
    budget: Budget
    person: str
    file_bytes: int
    dimensions: int
    seconds: float
    """Of this budget alone: retraining, or searching and packing."""
    once_seconds: float
    """Of what serves all budgets: 0 where each is trained for."""
    found: Evaluation
    more: dict[str, Any]


def losses_of(method: str) -> tuple[str, ...]:
    """The losses that a method is trained with."""
    if method == OURS:
        return ("ours",)
    if method in SCORES:
        return ("paper",)
    return _baselines()[method].losses


def sizes_of(method: str) -> tuple[float, ...]:
    """The sizes that a method is measured at: all, or the paper's where f32 needs them."""
    small = method == OURS or (method not in SCORES and _baselines()[method].sizes == "any")
    return (*TINY, *SMALL, *PRINTED) if small else PRINTED


def trains_once(method: str) -> bool:
    """Whether one training serves several sizes, so that one task measures them all."""
    return method in (*LIBRARY, *ONCE)


def all_methods() -> tuple[str, ...]:
    """Every method, the long ones first."""
    return (*LIBRARY, *_baselines())


def named_methods(names: str) -> tuple[str, ...]:
    """The methods of a list such as `ours,lightrec`; `rivals` are all but ours, "" is all."""
    known = all_methods()
    if unknown := set(filter(None, names.split(","))) - {RIVALS, *known}:
        expected = ", ".join((*known, RIVALS))
        raise InputError(f"no method is called {min(unknown)}; expected some of {expected}")
    rivals = [method for method in known if method != OURS]
    found = [rivals if each == RIVALS else [each] for each in names.split(",") if each]
    return tuple(dict.fromkeys(method for each in found for method in each)) or known


def baseline_trials(method: str, loss: str) -> list[dict[str, Any]]:
    """The settings to try of any method but ours."""
    return RULE_TRIALS if method in SCORES else _baselines()[method].trials(loss)


@lru_cache(maxsize=1)
def _baselines() -> dict[str, Any]:
    from experiments.baselines import BASELINES

    return dict(BASELINES)


@lru_cache(maxsize=3)
def load_split(path: Path) -> Split:
    """The split in a file; a worker's next task often reads the same."""
    return Split.load(path)


def measured(task: Task) -> Iterator[Measured]:
    """What a task gives at each of its sizes that the method can use."""
    split = load_split(task.data)
    budgets = {mb: budget_for(task.dataset, mb, split.n_items) for mb in task.sizes}
    if task.method in LIBRARY:
        yield from _by_library(task, split, budgets)
    else:
        yield from _by_baseline(task, split, budgets)


def _by_library(task: Task, split: Split, budgets: dict[float, Budget]) -> Iterator[Measured]:
    plan = plan_of(task).seeded(task.seed)
    nominal = {budget: mb for mb, budget in budgets.items()}
    with _place(task) as place:
        done = _kept(task, split, plan) or pipeline.trained(split, plan, task.device, place)
        ready = _ready(task, split, plan, done, place)
        for budget, found, file_bytes in _searched(ready, nominal):
            for person in ready.persons:
                evaluation = ready.evaluation(found.composition, task.part, METRICS, person)
                yield Measured(
                    nominal[budget],
                    budget,
                    person,
                    file_bytes,
                    plan.preset.train.dimensions,
                    found.seconds,
                    ready.once_seconds,
                    evaluation,
                    _about(ready, found, task),
                )


def _searched(
    ready: pipeline.Ready, nominal: dict[Budget, float]
) -> Iterator[tuple[Budget, Found, int]]:
    """What is found for each budget; those below the table's come last, each searched on its own.

    Files that are searched together grow out of the smallest, which a tiny one would do harm to.
    """
    yield from ready.found([budget for budget, mb in nominal.items() if mb not in TINY])
    for budget in (budget for budget, mb in nominal.items() if mb in TINY):
        try:
            yield from ready.found([budget])
        except InputError as error:
            print(f"at {nominal[budget]:g} MB: {error}", flush=True)


def _ready(task: Task, split: Split, plan: Plan, done: Trained, place: Path) -> pipeline.Ready:
    """What answers budgets: the model itself, or with what another one chose on its own split."""
    about: dict[str, Any] = {"device": task.device, "threads": task.threads}
    if task.choose is None:
        return pipeline.Ready(split, done, plan, place / "model", **about)
    from experiments.carrying import Carried

    later = load_split(task.choose)
    train = replace(plan.preset.train, **task.settings.get(CHOOSER, {}))
    chooser = replace(plan, preset=replace(plan.preset, train=train))
    first = pipeline.trained(later, chooser, task.device, place / "chooser")
    chosen = pipeline.Ready(later, first, chooser, place / "chosen", **about)
    return Carried(chosen, split, done, plan, place / "model")


def kept_training(task: Task, split: Split) -> tuple[Trained, TrainConfig] | None:
    """What the task's folder of tables holds for its data set and seed, and its settings."""
    from experiments import kept

    name = f"{task.dataset}-{task.seed}"
    if task.method != OURS or task.tables is None or not (task.tables / f"{name}.json").exists():
        return None
    return kept.trained(task.tables, name, split)


def _kept(task: Task, split: Split, plan: Plan) -> Trained | None:
    """What was trained and kept for this very task, where that is."""
    found = kept_training(task, split)
    if found is None:
        return None
    done, config = found
    if config != plan.preset.train:
        raise InputError(
            f"{task.tables}: {task.dataset} was trained with other settings than this task's"
        )
    return done


def _about(ready: pipeline.Ready, found: Any, task: Task) -> dict[str, Any]:
    """Facts worth keeping beside a composition's metrics."""
    kept = found.composition
    about = ready.folder.about
    more: dict[str, Any] = {
        "training_seconds": ready.training_seconds,
        "coding_seconds": about["coding_seconds"],
        "estimating_seconds": about["estimating_seconds"],
        "estimate": found.estimate,
        "blocks": int(kept.kept.sum()),
    }
    if not ready.plan.coded and task.part == "test":
        from experiments.ndcg_forms import forms_of

        more["forms"] = forms_of(ready.kept(kept), ready.split, task.device)
    return more


@contextmanager
def _place(task: Task) -> Iterator[Path]:
    """A folder for models under way: of the task's own name until it is done, or a passing one."""
    if task.kept is None:
        with tempfile.TemporaryDirectory() as place:
            yield Path(place)
        return
    name = f"{task.dataset}-{task.method}-{config_hash(task.config())}-{task.seed}"
    yield task.kept / "models" / name
    shutil.rmtree(task.kept / "models" / name)  # reached only when all is done


def _by_baseline(task: Task, split: Split, budgets: dict[float, Budget]) -> Iterator[Measured]:
    from experiments.baselines import BudgetTooSmall

    method = _baselines()[task.method]
    for mb, budget in budgets.items():
        try:
            fitted = method.fit(
                split, budget, loss=task.loss, settings=task.settings, seed=task.seed,
                device=task.device, epochs=task.extent.epochs,
            )  # fmt: skip
        except BudgetTooSmall as error:
            print(f"{task.dataset} at {mb:g} MB: {error}", flush=True)
            continue
        evaluation = fitted.evaluate(split, METRICS, device=task.device, part=task.part)
        yield Measured(
            mb, budget, fitted.person, fitted.n_bytes, fitted.dimensions, fitted.seconds, 0.0,
            evaluation, {},
        )  # fmt: skip
