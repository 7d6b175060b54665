"""A session of Table 2: which tasks are left, the best settings so far, and the work of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elasticrec.errors import InputError
from experiments import lines, methods, paired
from experiments.bases import read_trials
from experiments.jobs import Outcome, run_all
from experiments.methods import Measured
from experiments.tasks import LIBRARY, NEIGHBOURS_ALONE, OURS, Extent, Task, chosen_by

TABLE = "table2"
"""The name of the table's own lines."""
TUNED_AT = 5
"""The nominal size at which settings are chosen."""
RULE_TUNING_SAMPLES = 1_000
"""β of the paper's method while its settings are chosen: its training decides, not its search."""
TWO_ROWS = ("pmf",)
"""Methods whose two losses both stand in the table."""


@dataclass(frozen=True)
class Session:
    """What one run measures, and how."""

    data: Path
    tuning: Path
    config: Path
    results: Path
    kept: Path | None
    chosen: tuple[str, ...] = ()
    """Methods; all where none is named."""
    sizes: tuple[float, ...] = ()
    seeds: int = 3
    device: str = "cpu"
    threads: int = 1
    again: bool = False
    values: bool = False
    """Whether what was tested is left to do where its values per user are gone."""
    extent: Extent = field(default_factory=Extent)
    tuning_epochs: int | None = None
    """Epochs of each trial; None as many as are trained in the end."""
    tables: Path | None = None
    """Folder of trained tables of ours."""
    choose: Path | None = None
    """Folder of splits whose validation chooses weights and compositions of ours."""
    metric: str | None = None
    """What they are chosen by; "" as the data set's rehearsal said, None as the preset says."""
    experiment: str = TABLE
    """Where lines of test go; what has another name than the table's is no part of it."""

    def trials(self, dataset: str, method: str, loss: str) -> list[dict[str, Any]]:
        """The settings of a method to choose from."""
        if method != OURS:
            return methods.baseline_trials(method, loss)
        known = {"dataset", "label", "keep", "seed"}
        mine = [t for t in read_trials(self.config) if t["dataset"] == dataset]
        if not mine:
            raise InputError(f"{self.config.name} has no [[trial]] for {dataset}")
        return [{k: v for k, v in trial.items() if k not in known} for trial in mine]

    def tuning_tasks(self, dataset: str, method: str) -> list[Task]:
        """The trials of a method, on validation; none where nothing is to be chosen."""
        out = []
        few = min(RULE_TUNING_SAMPLES, self.extent.rule_samples)
        short = replace(self.extent, rule_samples=few)
        if self.tuning_epochs is not None:
            rule = min(self.tuning_epochs, short.rule_epochs)
            short = replace(short, epochs=self.tuning_epochs, rule_epochs=rule)
        for loss in methods.losses_of(method):
            trials = self.trials(dataset, method, loss)
            if len(trials) == 1 and (method in TWO_ROWS or len(methods.losses_of(method)) == 1):
                continue
            pairs = len(methods.load_split(self.tuning / f"{dataset}.npz").validation)
            out += [
                Task(
                    "table2-tuning", dataset, method, loss, settings, 0, (TUNED_AT,), "validation",
                    self.tuning / f"{dataset}.npz", self.results, self.kept, short, self.device,
                    self.threads, pairs,
                )
                for settings in trials
            ]  # fmt: skip
        return out

    def best(self, dataset: str, method: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Loss and settings of each row of a method: what was best on validation."""
        tried = {lines.config_hash(t.config()): t for t in self.tuning_tasks(dataset, method)}
        values: dict[str, float] = {}
        for line in lines.read_from(self.results, "table2-tuning"):
            mine = (line["dataset"], line["method"]) == (dataset, method)
            if mine and line["config_hash"] in tried:  # the main person comes first
                values.setdefault(line["config_hash"], line["metrics"]["recall@50"])
        by_loss: dict[str, list[str]] = {}
        for name in values:
            row = tried[name].loss if method in TWO_ROWS else ""
            by_loss.setdefault(row, []).append(name)
        for names in by_loss.values():
            best = tried[max(names, key=values.__getitem__)]
            yield best.loss, best.settings
        if not tried:
            for loss in methods.losses_of(method):
                yield loss, self.trials(dataset, method, loss)[0]

    def test_tasks(self, dataset: str, method: str) -> list[Task]:
        """The best settings of a method on test: every seed and size."""
        wanted = tuple(mb for mb in methods.sizes_of(method) if mb in (self.sizes or (mb,)))
        together = [wanted] if methods.trains_once(method) else [(mb,) for mb in wanted]
        choose = self.choose / f"{dataset}.npz" if method == OURS and self.choose else None
        metric = None
        if method == OURS:
            metric = chosen_by(dataset) if self.metric == "" else self.metric
        return [
            Task(
                self.experiment, dataset, method, loss, settings, seed, sizes, "test",
                self.data / f"{dataset}.npz", self.results, self.kept, self.extent,
                self.device, self.threads, tables=self.tables, choose=choose, metric=metric,
            )
            for loss, settings in self.best(dataset, method)
            for seed in range(1 if method in NEIGHBOURS_ALONE else self.seeds)  # nothing is drawn
            for sizes in together
            if sizes
        ]  # fmt: skip

    def left(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks that have no lines yet, less the sizes that have."""
        if self.again:
            return list(tasks)
        done = {
            (line["experiment"], *(line[n] for n in ("dataset", "method", "seed", "config_hash")),
             float(line["nominal_mb"]))
            for name in (self.experiment, "table2-tuning")
            for line in lines.read_from(self.results, name)
            if line["part"] != "test" or not self.values or self._has_values(line)
        }  # fmt: skip
        out = []
        for t in tasks:
            key = t.experiment, t.dataset, t.method, t.seed, lines.config_hash(t.config())
            missing = tuple(mb for mb in t.sizes if (*key, float(mb)) not in done)
            # Where one training serves all sizes, each file lies inside the next: all or none.
            whole = t.sizes if t.method == OURS else missing
            if missing:
                out.append(replace(t, sizes=whole))
        return out

    def _has_values(self, line: dict[str, Any]) -> bool:
        return self.kept is not None and paired.is_kept(self.kept / "users", line)


def measure_all(
    session: Session, datasets: Sequence[str], jobs: int, seconds: float | None, tune_only: bool
) -> list[Outcome[Task]]:
    """Tune, then test, each method as soon as its own tuning is done; then compare."""
    pairs = [(d, m) for d in datasets for m in session.chosen or methods.all_methods()]
    waiting = {pair: session.left(session.tuning_tasks(*pair)) for pair in pairs}
    counts = {pair: len(tasks) for pair, tasks in waiting.items()}
    first = [task for tasks in waiting.values() for task in tasks]
    if not tune_only:
        first += [
            t for pair in pairs if not counts[pair] for t in session.left(session.test_tasks(*pair))
        ]

    def then(outcome: Outcome[Task]) -> list[Task]:
        if outcome.task.part == "test" or tune_only:
            return []
        pair = outcome.task.dataset, outcome.task.method
        counts[pair] -= 1
        return session.left(session.test_tasks(*pair)) if counts[pair] == 0 else []

    print(f"{len(first)} tasks to begin with", flush=True)
    ended = run_all(
        sorted(first, key=lambda t: t.method not in LIBRARY), work,
        jobs=jobs, threads=session.threads, then=then, seconds=seconds,
    )  # fmt: skip
    if session.kept is not None and session.experiment == TABLE:
        made = paired.compare_all(session.kept / "users", session.results, session.seeds)
        print(f"{made} comparisons, user by user")
    failed = [outcome for outcome in ended if outcome.failed]
    if failed:
        print(f"{len(failed)} of {len(ended)} tasks failed:")
        for outcome in failed:
            print(f"  {outcome.said}")
    return ended


def work(task: Task) -> str:
    """Measure one task, append its lines, and say them in short."""
    _bound_threads(task.threads)
    said = []
    for found in methods.measured(task):
        line = recorded(task.results, task.experiment, _line(task, found))
        if task.part == "test" and task.kept is not None and found.found.per_user is not None:
            paired.keep(task.kept / "users", line, found.found.per_user)
        value = found.found.metrics["recall@50"]
        said.append(f"{found.nominal_mb:g} MB {value:.4f}")
    _free_memory()
    return f"{task}: " + (", ".join(said) or "no size fits")


def recorded(results: Path, experiment: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The line as appended; words are checked where it goes to the committed results."""
    if results == lines.RESULTS:
        return lines.append(experiment, fields)
    return lines.append_to(results, experiment, fields)


def _line(task: Task, found: Measured) -> dict[str, Any]:
    metrics = found.found.metrics | {"coverage": found.found.coverage}
    return {
        "dataset": task.dataset,
        "split": methods.load_split(task.data).kind,
        "method": task.method,
        "person": found.person,
        "budget_mb": found.budget.n_bytes / 1e6,
        "nominal_mb": found.nominal_mb,
        "file_bytes": found.file_bytes,
        "dimensions": found.dimensions,
        "seed": task.seed,
        "metrics": metrics | {"users": found.found.n_users},
        "seconds": round(found.seconds, 3),
        "once_seconds": round(found.once_seconds, 3),
        "config": task.config(),
        "loss": task.loss,
        "part": task.part,
        **found.more,
    }


def _bound_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _free_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
