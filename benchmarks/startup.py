"""Seconds of `import elasticrec` and `elasticrec --help`, each in a process of its own.

    python -m benchmarks.startup [--runs 15]

The rival is `import numpy, typer, rich`: what a command line that loads its libraries at the top
would pay before its own first line. Every time includes the start of the interpreter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

from benchmarks.lines import append, comparison

RIVAL = ["-c", "import numpy, typer, rich"]
MEASURED = {
    "import": (["-c", "import elasticrec"], 0.3),
    "help": (["-m", "elasticrec", "--help"], 0.5),
}
"""Arguments of Python, and the seconds that they may take."""


def seconds(arguments: list[str]) -> float:
    """Wall seconds of one `python ARGUMENTS`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, list[float]]:
    """The seconds of every run; all commands take turns, so that a busy moment hits all alike."""
    commands = {name: arguments for name, (arguments, _) in MEASURED.items()} | {"rival": RIVAL}
    for arguments in commands.values():
        seconds(arguments)  # fills the file cache and writes the bytecode
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, arguments in commands.items():
            taken[name].append(seconds(arguments))
    return taken


def main() -> int:
    """0 when every median is below its limit; appends a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    taken = measure(runs)
    rival = median(taken["rival"])
    late = False
    for name, (arguments, limit) in MEASURED.items():
        value, best = median(taken[name]), min(taken[name])
        late |= value >= limit
        metrics = comparison(value, "s", rival=rival) | {"best": best, "limit": limit}
        config = {"python": arguments, "rival": RIVAL, "runs": runs}
        append("startup", {"method": name, "metrics": metrics, "config": config})
        print(
            f"{name:8} median {value:.3f} s, best {best:.3f} s (limit {limit} s; "
            f"rival {rival:.3f} s)"
        )
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
