"""Commands of all experiments: their options, their tasks, and the data sets that they read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

import typer

from elasticrec.cli._output import PlainErrors
from elasticrec.data.split import Split
from elasticrec.engine import in_use, using
from elasticrec.errors import InputError
from elasticrec.evaluation.measure import Person
from elasticrec.evaluation.ranking import Part
from experiments import lines
from experiments.provenance import ROOT

T = TypeVar("T")
Base = Literal["history", "mf", "lightgcn"]
LOCAL = ROOT / "local"
"""Prepared splits, trained tables and values per user: kept out of the repository."""

Data = Annotated[Path, typer.Option(help="Folder of prepared splits, `gowalla.npz` and so on.")]
Datasets = Annotated[str, typer.Option("--dataset", help="Data sets, separated by commas.")]
Seeds = Annotated[str, typer.Option(help="Seeds, separated by commas.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Jobs = Annotated[int, typer.Option(help="Tasks at the same time, each in a process.")]
Minutes = Annotated[float | None, typer.Option(help="Begin nothing, and end, after so many.")]
Users = Annotated[int, typer.Option(help="Users of each half, at most; 0: all of them.")]
Tables = Annotated[Path | None, typer.Option("--tables", help="Folder of tables trained before.")]
Text = Annotated[str, typer.Option(help="Words, separated by commas.")]
Again = Annotated[bool, typer.Option("--again", help="Measure what the results hold, too.")]


@dataclass(frozen=True)
class Task:
    """One measurement to be made; everything that a process needs."""

    dataset: str
    seed: int
    data: Path
    """Folder of prepared splits."""
    device: str
    users: int = 0
    """Users of each half, at most; 0: all."""
    tables: Path | None = None
    """Folder of tables trained before."""
    person: Person = "history"
    part: Part = "validation"
    method: str = ""
    base: Base | None = None
    """The base that is trained, where it is not the preset's."""

    def __str__(self) -> str:
        words = (
            self.dataset,
            self.method,
            self.base or "",
            self.person,
            self.part,
            f"seed {self.seed}",
        )
        return " ".join(word for word in words if word)

    @property
    def path(self) -> Path:
        """The prepared split."""
        return self.data / f"{self.dataset}.npz"

    @property
    def about(self) -> dict[str, object]:
        """The fields of its result lines."""
        return {
            "dataset": self.dataset, "seed": self.seed, "part": self.part, "person": self.person,
            "most_users": self.users,
        }  # fmt: skip


def measure_missing(
    experiment: str,
    tasks: Sequence[Task],
    work: Callable[[Task], str],
    last: Callable[[Task], dict[str, object]],
    *,
    jobs: int,
    minutes: float | None,
    again: bool,
    expected: Callable[[Task, Split], float] | None = None,
) -> None:
    """Do the tasks whose last lines, with these fields, are not there yet; or all of them again.

    Args:
        expected: seconds of one process, by which a plan is printed first.
    """
    found = lines.read(experiment)
    left = [each for each in tasks if again or not lines.holds(found, **each.about | last(each))]
    if expected is not None:
        plan(left, expected, jobs)
    measure_all(left, work, jobs, minutes)


def measure_all(
    tasks: list[Task], work: Callable[[Task], str], jobs: int, minutes: float | None
) -> None:
    """Do all tasks, so many at the same time or by another engine; each end is printed."""
    limit = inf if minutes is None else 60 * minutes
    if jobs == 1:
        run_all(tasks, work, limit)
    else:
        with using("processes", workers=jobs):
            run_all(tasks, work, limit)


CARRIED = 12
"""So many processes one GPU with 16 cores carries before more make each as much slower."""


def plan(tasks: Sequence[Task], expected: Callable[[Task, Split], float], jobs: int) -> None:
    """Print the seconds that the tasks are expected to take on one H200 with 16 cores."""
    if not tasks:
        return
    sizes = {path: Split.load(path) for path in {task.path for task in tasks}}
    whole, longest = 0.0, 0.0
    for method in dict.fromkeys(task.method for task in tasks):
        each = [expected(x, sizes[x.path]) for x in tasks if x.method == method]
        whole, longest = whole + sum(each), max(longest, *each)
        print(f"plan: {method or 'each'}, {len(each)} tasks, {sum(each):.0f} s of processes")
    seconds = max(longest, whole / max(min(jobs, CARRIED), 1))
    print(f"plan: about {seconds:.0f} s in all at {jobs} side by side, {seconds / 3600:.2f} GPU "
          "hours", flush=True)  # fmt: skip


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of one task."""

    task: T
    said: str
    """The words of the work, or the reason why it failed."""
    failed: bool


def run_all(
    tasks: Sequence[T], work: Callable[[T], str], seconds: float = float("inf")
) -> list[Ended[T]]:
    """The end of every task, in the order they ended; each is printed.

    Args:
        seconds: when they are over, what still runs elsewhere is ended and nothing more begins.
    """
    began, ended = time.monotonic(), list[Ended[T]]()
    for outcome in in_use().run(_done, tasks, work, until=began + seconds):
        task, error = tasks[outcome.number], outcome.error
        said = outcome.result or f"{task}: {type(error).__name__}: {error}"
        if error is not None:
            print("".join(getattr(error, "__notes__", ())), file=sys.stderr)
        ended.append(Ended(task, said, error is not None))
        word = "" if error is None else "FAILED "
        print(f"{time.monotonic() - began:6.1f} s  {word}{said}", flush=True)
    if left := len(tasks) - len(ended):
        print(f"{left} tasks were not done; the same command goes on", flush=True)
    return ended


def _done(work: Callable[[T], str], task: T) -> str:
    return work(task)


def make_app(about: str | None) -> typer.Typer:
    """The commands of one experiment, described by its module; bad input ends in one line."""
    app = typer.Typer(cls=PlainErrors, add_completion=False, help=about, no_args_is_help=True)

    @app.callback(help=about)
    def begin(
        context: typer.Context,
        engine: Annotated[str, typer.Option(help="serial (--jobs), or ray: a cluster.")] = "serial",
        ray_address: Annotated[str | None, typer.Option(help="The cluster's address.")] = None,
    ) -> None:
        context.with_resource(using(engine, address=ray_address))

    return app


def named(names: str) -> list[str]:
    """The words of a list such as `gowalla,yelp2018`."""
    return [name.strip() for name in names.split(",") if name.strip()]


def datasets_in(folder: Path, names: str) -> list[str]:
    """The data sets of a list, each prepared in a folder."""
    found = named(names)
    for name in found:
        if not (folder / f"{name}.npz").exists():
            raise InputError(
                f"{folder} holds no {name}.npz; expected what `elasticrec data prepare` writes "
                "(experiments/README.md)"
            )
    return found


def persons_of(names: str) -> list[Person]:
    """The kinds of person of a list: `history`, `vector`."""
    known: tuple[Person, ...] = ("history", "vector")
    if unknown := set(named(names)) - set(known):
        raise InputError(f"no kind of person is called {min(unknown)}; expected history or vector")
    return [kind for kind in known if kind in named(names)]


def part_of(name: str) -> Part:
    """The part of that name."""
    if name == "validation":
        return "validation"
    if name == "test":
        return "test"
    raise InputError(f"part {name!r}, expected validation or test")


def seeds_of(names: str) -> list[int]:
    """The seeds of a list such as `0,1,2`."""
    if any(not name.isdigit() for name in named(names)):
        raise InputError(f"seeds {names!r}, expected whole numbers, such as 0,1,2")
    return [int(name) for name in named(names)]
