"""How long a search takes on one core, from a budget to a composition, each in a fresh process.

    python -m benchmarks.search [--runs 7]

The shape is Amazon-Book's: 91,599 items in 20 groups of 16 blocks, an FM estimator of d0 = 64 with
random weights, P = 20, S = 5, C = 50, and 50 times as many rounds. `menu` is our search, which
starts from uniform and greedy; `printed` is the paper's over free blocks. The time begins when the
estimator is loaded and ends with the composition; nothing was computed before. The rival of a
search is best-of-random over as many candidates; that of the whole process is one that imports
torch, as a search with the estimator's training code would.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

from benchmarks.lines import append, comparison

LIMITS = {50: 0.1, 2500: 2.0}
"""Seconds that a search of so many rounds may take."""
BUDGETS = (5, 10, 25)
"""Megabytes."""
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def an_estimator(groups: int = 20, blocks: int = 16, width: int = 64) -> Any:
    """An FM with a linear term and random weights: its speed does not depend on their values."""
    import numpy as np

    from elasticrec.rule.estimator.features import Features
    from elasticrec.rule.estimator.model import Estimator

    rng = np.random.default_rng(0)
    shapes = {
        "code": (blocks, width),
        "group": (groups, width),
        "ffn": (width, width),
        "ffn_bias": (width,),
        "out": (width,),
        "bias": (),
        "linear": (groups * blocks,),
    }
    weights = {name: rng.normal(0, 0.1, size=shape) for name, shape in shapes.items()}
    return Estimator(Features(groups, blocks), "fm", weights)


def one_search(space: str, megabytes: int, rounds: int) -> dict[str, float]:
    """Seconds of one search by the clock and by the CPU, and of its rival, in this process."""
    import numpy as np

    from elasticrec.rule.controls import best_of_random
    from elasticrec.rule.evolution import SearchConfig, evolve
    from elasticrec.rule.free_blocks import FreeBlocks
    from elasticrec.search.menu_rows import MenuRows
    from elasticrec.rule.problem import Problem
    from elasticrec.space.budget import Budget, PaperAccounting
    from elasticrec.space.composition import Menu
    from elasticrec.space.groups import even_sizes

    estimator, rng = an_estimator(), np.random.default_rng(1)
    order, budget = np.arange(16), Budget.megabytes(megabytes)
    started, began = time.perf_counter(), time.process_time()
    accounting = PaperAccounting(even_sizes(91_599, 20), 16, 8)
    config = SearchConfig(rounds=rounds)
    if space == "menu":
        problem = Problem(MenuRows(Menu.f32_prefixes(order), accounting, budget), estimator.predict)
    else:
        config = SearchConfig.printed(rounds=rounds)
        problem = Problem(FreeBlocks(order, accounting, budget, printed=True), estimator.predict)
    evolve(problem, config, rng)
    took = {"searched": time.perf_counter() - started, "cpu": time.process_time() - began}
    return took | {"rival": best_of_random(problem, config, rng).seconds}


def in_fresh_process(*arguments: str) -> tuple[dict[str, float], float]:
    """What a child printed, and its wall seconds."""
    command = [sys.executable, "-m", "benchmarks.search", "--child", *arguments]
    core = min(os.sched_getaffinity(0))
    started = time.perf_counter()
    ran = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | ONE_CORE,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    return json.loads(ran.stdout), time.perf_counter() - started


def report(
    method: str, value: float, rival: float, config: Any, limit: float | None = None, **more: float
) -> bool:
    """Whether the value is within its limit; appends its line."""
    metrics = comparison(value, "s", rival=rival) | {"limit": limit} | more
    append("search", {"method": method, "metrics": metrics, "config": config})
    within = limit is None or value < limit
    beside = ", ".join(f"{name} {number:.4f}" for name, number in more.items())
    print(f"{method:24} {value:.4f} s (limit {limit} s; rival {rival:.4f} s; {beside})")
    return within


def main() -> int:
    """0 when every median is below its limit; appends a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--child", nargs=4, metavar=("SPACE", "MB", "ROUNDS", "TORCH"))
    args = parser.parse_args()
    if args.child:
        space, megabytes, rounds, torch = args.child
        if torch == "yes":
            import torch as _  # noqa: F401
        print(json.dumps(one_search(space, int(megabytes), int(rounds))))
        return 0
    within = True
    for space in ("menu", "printed"):
        for rounds, limit in LIMITS.items():
            for megabytes in BUDGETS:
                asked = (space, str(megabytes), str(rounds))
                taken = [in_fresh_process(*asked, "no")[0] for _ in range(args.runs)]
                value, rival = (median(t[k] for t in taken) for k in ("searched", "rival"))
                config = {"space": space, "megabytes": megabytes, "rounds": rounds, "cores": 1}
                method = f"{space}-{megabytes}MB-{rounds}-rounds"
                more = {"best": min(t["searched"] for t in taken)}
                more["cpu"] = median(t["cpu"] for t in taken)
                within &= report(method, value, rival, config, limit, **more)
    asked = ("menu", "10", "50")
    wall = {
        torch: median(in_fresh_process(*asked, torch)[1] for _ in range(args.runs))
        for torch in ("no", "yes")
    }
    report("whole-process", wall["no"], wall["yes"], {"space": "menu", "megabytes": 10})
    return int(not within)


if __name__ == "__main__":
    sys.exit(main())
