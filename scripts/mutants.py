"""Breaks chosen lines one at a time, in a copy of the tree, and reports which the tests notice.

`scripts/mutants.toml` lists the mutants: a line, its broken form, and the tests that must fail.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts/mutants.toml"
COPIED = ("src", "device", "examples", "scripts", "benchmarks", "tests", "docs", "pyproject.toml")
"""Files and folders that the named tests need."""
IMPORTED = ("src", "device/python", "examples", ".")
"""Folders of a copy in which Python looks first."""
ENDLESS = 300.0
"""Seconds after which tests count as failed: a mutant may loop for ever."""
PASSED, FAILED = 0, 1
"""Exit codes of pytest; any other one says that tests could not run."""


@dataclass(frozen=True)
class Mutant:
    """One line that a test must notice when it breaks."""

    name: str
    says: str
    """The mistake, in words."""
    file: str
    before: str
    """Text within one line, once in the file."""
    after: str
    tests: tuple[str, ...]
    """Arguments of pytest: files, or files and the names of tests."""

    def broken(self, text: str) -> str:
        """The file's text with the mutant in it."""
        if text.count(self.before) != 1:
            raise ValueError(
                f"{self.name}: {self.file} has {self.before!r} {text.count(self.before)} times, "
                "expected once"
            )
        return text.replace(self.before, self.after)


def read_mutants(path: Path = LIST) -> list[Mutant]:
    """The mutants of a list."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def copy_tree(folder: Path) -> Path:
    """A copy of what the tests need, in a new folder."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def run_python(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What Python says in a copy, with the copy's packages before installed ones."""
    path = os.pathsep.join(str(root / folder) for folder in IMPORTED)
    # Compiled files are kept by the second and the size of a source, which mutants may share.
    own = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=root, env={**os.environ, **own}, timeout=ENDLESS,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_tests(root: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """The tests of a copy, up to the first that fails."""
    return run_python(root, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


def check_copy(root: Path, tests: tuple[str, ...]) -> None:
    """Refuse a copy that is not the one imported, or whose tests fail without any mutant."""
    code = "import elasticrec, elasticrec_device as d; print(elasticrec.__file__, d.__file__)"
    for file in run_python(root, "-c", code).stdout.split() or ["nothing"]:
        if not Path(file).resolve().is_relative_to(root.resolve()):
            raise SystemExit(f"{file} is imported, expected a file in {root}")
    found = run_tests(root, tests)
    if found.returncode != PASSED:
        said = f"{found.stdout}{found.stderr}"
        raise SystemExit(f"{said}\ntests fail without any mutant, expected them to pass")


def is_killed(mutant: Mutant, root: Path) -> bool:
    """True if the mutant's tests fail with it in a copy, which is as before afterwards."""
    path = root / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.broken(text), encoding="utf-8")
    try:
        found = run_tests(root, mutant.tests)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(text, encoding="utf-8")
    if found.returncode not in (PASSED, FAILED):
        raise SystemExit(f"{found.stdout}{found.stderr}\n{mutant.name}: its tests could not run")
    return found.returncode == FAILED


@contextmanager
def copies(n: int) -> Iterator[SimpleQueue[Path]]:
    """n copies of the tree, to be taken and given back."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        queue: SimpleQueue[Path] = SimpleQueue()
        for number in range(n):
            root = Path(folder) / str(number)
            root.mkdir()
            queue.put(copy_tree(root))
        yield queue


def main(words: list[str] | None = None) -> int:
    """0 when every mutant dies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these mutants")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (default: 2)")
    args = parser.parse_args(words)
    mutants = [m for m in read_mutants() if args.only is None or m.name in args.only]
    unknown = {*(args.only or ())} - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}")
    with copies(args.jobs) as free, ThreadPoolExecutor(args.jobs) as pool:

        def run(mutant: Mutant) -> bool:
            root = free.get()
            try:
                killed = is_killed(mutant, root)
            finally:
                free.put(root)
            print(
                f"{'killed' if killed else 'survived':8} {mutant.name}: {mutant.says}", flush=True
            )
            return killed

        root = free.get()
        check_copy(root, tuple(sorted({test for mutant in mutants for test in mutant.tests})))
        free.put(root)
        died = sum(pool.map(run, mutants))
    print(f"{died} of {len(mutants)} mutants died")
    return 0 if died == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
