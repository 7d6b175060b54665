"""Where a number came from: the code, the commit, the machine and the command that made it."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

LIBRARY = tuple(
    f"src/elasticrec/{path.name}"
    for path in sorted((ROOT / "src" / "elasticrec").iterdir())
    if path.name not in ("cli", "serve", "__init__.py", "__main__.py", "__pycache__")
)
"""The library's code: all but the command line and the service, which change no number."""

CODE = ("src", "device", "experiments", "benchmarks", "pyproject.toml", "constraints.txt")
"""Places that a measurement depends on: uncommitted changes in them make a commit dirty."""


@lru_cache(maxsize=8)
def code_hash(*places: str) -> str:
    """Twelve hex digits that name some code; comments and docstrings do not count.

    Args:
        places: modules and folders of the repository; by default `LIBRARY`.
    """
    digest = hashlib.sha256()
    for path in modules(*places):
        digest.update(f"{path.relative_to(ROOT)}\n{_code_of(path)}\n".encode())
    return digest.hexdigest()[:12]


def modules(*places: str) -> list[Path]:
    """The modules whose code `code_hash` names."""
    found = []
    for place in (ROOT / name for name in places or LIBRARY):
        found += [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))
    return found


def _code_of(path: Path) -> str:
    """A module's code, without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _documented(tree):
        node.body = [
            each
            for each in node.body
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        ] or [ast.Pass()]
    return ast.unparse(tree)


def _documented(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """Every place that a docstring may stand in."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield node


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit that runs, `-dirty` with uncommitted code, "unknown" where nothing tells.

    `ELASTICREC_COMMIT` in the environment goes first. The answer is kept: a long run that asks at
    its beginning names the commit it started from.
    """
    if given := os.environ.get("ELASTICREC_COMMIT"):
        return given
    head = _git("rev-parse", "--short=12", "HEAD")
    if not head or _git("rev-parse", "--show-toplevel") != str(ROOT):
        return "unknown"
    here = [path for path in CODE if (ROOT / path).exists()]
    changes = _git("status", "--porcelain", "--", *here, ":(exclude)*/results/*")
    return f"{head}-dirty" if changes else head


def machine() -> str:
    """The GPU's name where torch is loaded and sees one, else cores × CPU model.

    `ELASTICREC_MACHINE` in the environment goes first.
    """
    if given := os.environ.get("ELASTICREC_MACHINE"):
        return given
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return str(torch.cuda.get_device_name(0))
    return f"{cores()} × {cpu_model()}"


def cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_model() -> str:
    """The CPU's name as the machine reports it."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        about = ""
    named = re.search(r"^model name\s*:\s*(.+)$", about, flags=re.MULTILINE)
    return named.group(1).strip() if named else platform.processor() or platform.machine()


def memory_gb() -> float:
    """The machine's memory in 10^9 bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


@contextmanager
def energy() -> Iterator[dict[str, float]]:
    """Seconds, and the mean watts and the watt-hours of a GPU, once the block has ended.

    Without `nvidia-smi` the seconds alone.
    """
    ask = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
    found: dict[str, float] = {}
    watts: list[float] = []
    ended, began = threading.Event(), time.monotonic()

    def sample() -> None:
        """Ask every few seconds, until the block ends or nobody answers."""
        while not ended.wait(2.0):
            try:
                said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
                watts.append(sum(map(float, said.split())))
            except (OSError, subprocess.CalledProcessError, ValueError):
                return

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        found["seconds"] = round(time.monotonic() - began, 1)
        if watts:
            found["watts"] = round(sum(watts) / len(watts), 1)
            found["watt_hours"] = round(found["watts"] * found["seconds"] / 3600, 2)


def command() -> str:
    """The command line that runs, without this machine's paths; a worker names its parent's."""
    program, *arguments = sys.argv  # not orig_argv: in a spawned worker that is its own
    words = [*_program(Path(program).resolve()), *map(without_machine_paths, arguments)]
    return shlex.join(words)


def _program(path: Path) -> list[str]:
    """The first words of a command whose `sys.argv[0]` is that path."""
    if path.name == "__main__.py":
        return ["python", "-m", path.parent.name]
    if path.suffix == ".py" and path.is_relative_to(ROOT):
        return ["python", "-m", ".".join(path.relative_to(ROOT).with_suffix("").parts)]
    return [path.name]


def without_machine_paths(text: str) -> str:
    """The text with an absolute path made relative to the repository, or cut to its last part."""
    before, equals, value = text.rpartition("=")
    path = Path(value)
    if not path.is_absolute() or "\n" in value:
        return text
    short = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path("...") / path.name
    return f"{before}{equals}{short}"


def _git(*arguments: str) -> str:
    """The answer of git, stripped; "" where there is no git or no repository."""
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


if __name__ == "__main__":
    print(
        f"{cores()} cores, {memory_gb():.0f} GB, {cpu_model()}, Python {platform.python_version()}"
    )
