"""Everything that the results page is made of, by one command.

    python -m experiments.everything list
    python -m experiments.everything run --data DIR --gpu --jobs 16 --minutes 25

`everything.toml` lists the commands in the order in which they are worth having, and how
many processes each may use. `run` starts as many as fit beside each other; each skips what the
results hold, so the same command goes on where a run was cut off. What each one prints goes to a
file in `local/everything`. DIR holds prepared splits, and `late`, `last`, `everyone` and
`rehearsal` beside them (experiments/README.md).
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from elasticrec.errors import InputError
from experiments.command import make_app
from experiments.provenance import ROOT

app = make_app(__doc__)
CONFIG = Path(__file__).with_suffix(".toml")
LOGS = ROOT / "local" / "everything"
GRACE = 30.0
"""Seconds between the time that commands are told to end by and the end of those that did not."""

Config = Annotated[Path, typer.Option(help="TOML file with one [[command]] each.")]


@dataclass(frozen=True)
class Command:
    """One command of an experiment."""

    words: tuple[str, ...]
    """What comes after `python -m experiments.`; in a file with {data} for the folder of splits."""
    jobs: int
    """Processes that it may use."""

    def filled(self, data: Path) -> Command:
        """The same with the folder of splits in it."""
        return Command(tuple(word.replace("{data}", str(data)) for word in self.words), self.jobs)

    def arguments(self, gpu: bool, seconds: float | None) -> list[str]:
        """The command line for this interpreter."""
        name, *rest = self.words
        words = [sys.executable, "-m", f"experiments.{name}", *rest, "--jobs", str(self.jobs)]
        if gpu:
            words.append("--gpu")
        return words if seconds is None else [*words, "--minutes", f"{seconds / 60:.3f}"]


def read_commands(path: Path) -> list[Command]:
    """The commands that a file lists."""
    with path.open("rb") as file:
        entries = tomllib.load(file).get("command", [])
    if not entries or any(set(entry) != {"run", "jobs"} for entry in entries):
        raise InputError(f"{path.name}: expected [[command]] entries with `run` and `jobs`")
    return [Command(tuple(shlex.split(entry["run"])), int(entry["jobs"])) for entry in entries]


@app.command("list")
def show(config: Config = CONFIG) -> None:
    """Print the commands, each with the processes that it may use."""
    for command in read_commands(config):
        print(f"{command.jobs:3d}  {shlex.join(command.words)}")


@app.command()
def run(
    data: Annotated[Path, typer.Option(help="Folder of prepared splits.")] = ROOT / "local",
    config: Config = CONFIG,
    gpu: Annotated[bool, typer.Option("--gpu", help="Compute on the GPU.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at the same time.", min=1)] = 2,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes.")] = None,
) -> None:
    """Run every command of the file; what the results hold is skipped."""
    commands = [each.filled(data) for each in read_commands(config)]
    limit = None if minutes is None else 60 * minutes
    failed = run_commands(commands, LOGS, gpu=gpu, jobs=jobs, seconds=limit)
    if failed:
        raise typer.Exit(1)


def run_commands(
    commands: list[Command],
    logs: Path,
    *,
    gpu: bool = False,
    jobs: int = 2,
    seconds: float | None = None,
) -> list[Command]:
    """The commands that failed; each start and end is printed.

    Args:
        logs: where the output of each goes.
        jobs: processes at the same time; a command that may use more gets so many.
        seconds: commands are told to end by then, and ended a little later.
    """
    logs.mkdir(parents=True, exist_ok=True)
    began, failed = time.monotonic(), list[Command]()
    waiting = [
        (number, Command(each.words, min(each.jobs, jobs)))
        for number, each in enumerate(commands, 1)
    ]
    running: dict[subprocess.Popen[bytes], tuple[Command, Path]] = {}

    def tell(what: str, command: Command) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {what}: {shlex.join(command.words)}", flush=True)

    def start(number: int, command: Command) -> None:
        left = None if seconds is None else began + seconds - time.monotonic()
        path = logs / f"{number:02d}-{command.words[0]}.log"
        words = command.arguments(gpu, left)
        with path.open("a") as log:
            print(shlex.join(words), file=log, flush=True)
            process = subprocess.Popen(
                words, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )
        running[process] = command, path
        tell(f"began, see {path.name}", command)

    try:
        while waiting or running:
            over = seconds is not None and time.monotonic() - began > seconds
            if over and waiting:
                print(f"{len(waiting)} commands were not begun; the same command goes on")
                waiting = []
            for entry in list(waiting):  # a smaller one may overtake one that does not fit yet
                if entry[1].jobs <= jobs - sum(each.jobs for each, _ in running.values()):
                    waiting.remove(entry)
                    start(*entry)
            for process in [each for each in running if each.poll() is not None]:
                command, path = running.pop(process)
                if process.returncode == 0:
                    tell("ended", command)
                else:
                    tell("FAILED", command)
                    print(f"{'':10}{_last_words(path)}", flush=True)
                    failed.append(command)
            if seconds is not None and time.monotonic() - began > seconds + GRACE:
                break
            time.sleep(0.2)
    finally:
        for process, (command, _) in running.items():
            os.killpg(process.pid, signal.SIGTERM)  # it, and its workers
            tell("ended before it was done", command)
        for process in running:
            process.wait()
    return failed


def _last_words(path: Path) -> str:
    """The last line of a log that says something; frames around messages do not."""
    lines = path.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if any(map(str.isalpha, line))), "said nothing")


if __name__ == "__main__":
    app()
