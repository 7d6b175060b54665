"""Studies: one part of a method changed at a time, all else equal, each at some sizes.

A study starts from ours or from the paper's method on one data set. Variants that differ from the
start only after training share one training, which other studies find again where it is kept; those
that differ only in estimator or search share the codes and the compositions measured, too.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.rule.estimator.building import LEDGER
from elasticrec.rule.estimator.draws import FOUND
from experiments import lines, methods
from experiments.equal_bytes import budget_for
from experiments.pipeline import Ready, trained
from experiments.plans import Plan, Rows
from experiments.table2_session import Session, recorded
from experiments.tasks import OURS, Task, plan_of

if TYPE_CHECKING:
    from elasticrec.data.splitting import Split
    from elasticrec.evaluation.questions import Part
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.rule.problem import Found
    from elasticrec.training.loop import Trained


@dataclass(frozen=True)
class Variant:
    """What is changed, by stage; the fields are those of the stage's settings."""

    name: str
    train: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Any] = field(default_factory=dict)
    estimator: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    rows: Rows = "all"

    def plan(self, start: Plan) -> Plan:
        """The plan of the start with this change."""
        p = start.preset
        changed = replace(
            p,
            train=replace(p.train, **self.train),
            space=replace(p.space, **self.space),
            estimator=replace(p.estimator, **self.estimator),
            search=replace(p.search, **self.search),
        )
        return replace(start, preset=changed, rows=self.rows)


@dataclass(frozen=True)
class StudyTask:
    """Variants of one start that share training, groups and rows, with one seed."""

    experiment: str
    start: Task
    """The start on its data set; its settings, extent and device are those of all variants."""
    variants: tuple[Variant, ...]
    part: Part = "test"

    def __str__(self) -> str:
        names = ", ".join(variant.name for variant in self.variants)
        return f"{self.start.dataset} {self.start.method} seed {self.start.seed}: {names}"


@dataclass(frozen=True, eq=False)
class Studied:
    """One variant at one size."""

    variant: Variant
    plan: Plan
    ready: Ready
    nominal_mb: float
    budget_mb: float
    file_bytes: int
    found: Found
    evaluation: Evaluation


def tasks(
    experiment: str,
    session: Session,
    dataset: str,
    variants: Mapping[str, Sequence[Variant]],
    sizes: Iterable[float],
    part: Part = "test",
) -> list[StudyTask]:
    """What is left of a study: by start, variants that share training, groups and rows.

    The first task of every training comes before all others, so that few have to wait for one.

    Args:
        variants: the variants of each start.
    """
    done = {
        (line["dataset"], line["method"], line["seed"], line["config_hash"])
        for line in lines.read_from(session.results, experiment)
    }
    out: list[tuple[int, StudyTask]] = []
    for method, mine in variants.items():
        loss, settings = settled(session, dataset, method)
        for seed in range(session.seeds):
            start = Task(
                experiment, dataset, method, loss, settings, seed, tuple(sizes), part,
                session.data / f"{dataset}.npz", session.results, session.kept, session.extent,
                session.device, session.threads, tables=session.tables,
            )  # fmt: skip
            groups: dict[str, list[Variant]] = {}
            for variant in mine:
                name = lines.config_hash(variant.plan(plan_of(start)).config())
                if session.again or (dataset, method, seed, name) not in done:
                    groups.setdefault(_alike(variant.plan(plan_of(start))), []).append(variant)
            trainings: dict[str, int] = {}
            for some in groups.values():
                training = lines.config_hash(dict(some[0].train))
                trainings[training] = trainings.get(training, -1) + 1
                out.append((trainings[training], StudyTask(experiment, start, tuple(some), part)))
    return [task for _, task in sorted(out, key=lambda pair: min(pair[0], 1))]


def _alike(plan: Plan) -> str:
    """Equal where training, groups and rows are, so that codes and draws can be shared."""
    chosen = plan.preset
    return lines.config_hash({"train": chosen.train, "space": chosen.space, "rows": plan.rows})


def settled(session: Session, dataset: str, method: str) -> tuple[str, dict[str, Any]]:
    """Loss and settings that Table 2 has for a method; the first trial where it has none.

    Ours takes the trial of the session's own file: Table 2 gives it more dimensions than the paper.
    """
    for line in reversed(lines.read_from(session.results, "table2")):
        if (line["dataset"], line["method"]) == (dataset, method) and method != OURS:
            return line["loss"], line["config"]["settings"]
    loss = methods.losses_of(method)[0]
    return loss, session.trials(dataset, method, loss)[0]


def studied(task: StudyTask) -> Iterator[Studied]:
    """Every variant of a task at every size."""
    start = task.start
    split = methods.load_split(start.data)
    budgets = {budget_for(start.dataset, mb, split.n_items): mb for mb in start.sizes}
    base = plan_of(start)
    plans = {v.name: v.plan(base).seeded(start.seed) for v in task.variants}
    first = plans[task.variants[0].name]
    with tempfile.TemporaryDirectory() as place:
        done = trained_once(split, first, start)
        made: Ready | None = None
        for number, variant in enumerate(task.variants):
            plan, folder = plans[variant.name], Path(place) / str(number)
            if made is not None:
                _copy(made, folder, estimator=plan.preset.estimator)
            ready = Ready(split, done, plan, folder, device=start.device, threads=start.threads)
            made = made or ready
            for budget, found, file_bytes in ready.found(list(budgets)):
                evaluation = ready.evaluation(
                    found.composition, task.part, methods.METRICS, ready.persons[0]
                )
                yield Studied(
                    variant, plan, ready, budgets[budget], budget.n_bytes / 1e6, file_bytes,
                    found, evaluation,
                )  # fmt: skip
            if ready is not made:
                shutil.rmtree(folder)


def trained_once(split: Split, plan: Plan, start: Task) -> Trained:
    """What the plan's training leaves; kept for other tasks and studies where the start says so.

    A table of the start's folder of tables is taken where it was trained with the plan's settings.
    """
    known = methods.kept_training(start, split)
    if known is not None and known[1] == plan.preset.train:
        return known[0]
    if start.kept is None:
        return trained(split, plan, start.device)
    name = lines.config_hash({"train": plan.preset.train, "split": split.fingerprint()})
    place = start.kept / "trainings" / f"{start.dataset}-{start.method}-{start.seed}-{name}"
    with _alone(place):
        return trained(split, plan, start.device, place)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Wait until no other process is inside for the same folder."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _copy(ready: Ready, place: Path, *, estimator: Any) -> None:
    """A folder with another's model, codes and measured draws; its estimator if that is alike.

    What searches by that other estimator looked at is left behind with it.
    """
    shutil.copytree(ready.folder.root, place)
    if estimator != ready.plan.preset.estimator:
        about = json.loads((place / "model.json").read_text(encoding="utf-8"))
        del about["about"]["estimating_seconds"]
        (place / "model.json").write_text(json.dumps(about), encoding="utf-8")
        head, *draws = (place / LEDGER).read_text(encoding="utf-8").splitlines(keepends=True)
        own = [draw for draw in draws if json.loads(draw)["i"] < FOUND]
        (place / LEDGER).write_text("".join([head, *own]), encoding="utf-8")


def newest(results: Path | None, experiment: str) -> list[dict[str, Any]]:
    """A study's lines, oldest first; of each variant of a start the newest settings count.

    Args:
        results: the folder of lines; None for the committed ones.
    """
    found = lines.read_from(results or lines.RESULTS, experiment)
    last = {(x["dataset"], x["method"], x["variant"]): x["config_hash"] for x in found}
    return [x for x in found if last[x["dataset"], x["method"], x["variant"]] == x["config_hash"]]


def record(task: StudyTask, found: Studied, **more: Any) -> str:
    """What was measured in short, after it was appended as a line."""
    metrics = found.evaluation.metrics | {"coverage": found.evaluation.coverage}
    fields = {
        "dataset": task.start.dataset,
        "split": found.ready.split.kind,
        "method": task.start.method,
        "person": found.ready.persons[0],
        "budget_mb": found.budget_mb,
        "nominal_mb": found.nominal_mb,
        "file_bytes": found.file_bytes,
        "dimensions": found.plan.preset.train.dimensions,
        "seed": task.start.seed,
        "metrics": metrics | {"users": found.evaluation.n_users},
        "seconds": round(found.found.seconds, 3),
        "config": found.plan.config(),
        "variant": found.variant.name,
        "part": task.part,
        "estimate": found.found.estimate,
        **more,
    }
    line = recorded(task.start.results, task.experiment, fields)
    value = line["metrics"]["ndcg@50"]
    return f"{found.variant.name} {found.nominal_mb:g} MB {value:.4f}"
