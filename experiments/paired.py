"""Is ours better than a rival for the same people? Values per user, and paired t-tests on them.

Values are kept beside the results, in a folder that is not committed; the tests are lines of their
own, one for each column of Table 2, so that the committed lines suffice to draw. A user's value is
the mean over seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.evaluation.significance import paired_t_test
from experiments import lines
from experiments.paper import METRICS
from experiments.tasks import NEIGHBOURS_ALONE

FIRST = METRICS[0]
"""The metric that a test is of where its settings name none."""
EXPERIMENT = "table2-tests"


def keep(folder: Path, line: dict[str, Any], values: Mapping[str, np.ndarray]) -> None:
    """Write the values per user of one line, those of the table's metrics."""
    path = _path(folder, line)
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = {name: values[name].astype(np.float32) for name in METRICS if name in values}
    np.savez_compressed(path, **shown)  # type: ignore[arg-type]


def is_kept(folder: Path, line: dict[str, Any]) -> bool:
    """Whether the values per user of a line are there."""
    return _path(folder, line).exists()


def _path(folder: Path, line: dict[str, Any]) -> Path:
    words = (line["method"], line["person"], line["config_hash"], f"{line['nominal_mb']:g}")
    return folder / line["dataset"] / f"{'-'.join(words)}-{line['seed']}.npz"


def compare_all(folder: Path, results: Path, n_seeds: int, ours: str = "ours") -> int:
    """How many tests were made: ours against each rival, in each column, over the seeds both have.

    Neighbours alone are the same for every seed, so they have them all.

    Args:
        n_seeds: seeds that count, from 0. What was measured anew, or has more seeds by now, is
            tested again.
    """
    groups: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in lines.read_from(results, "table2"):
        if line["seed"] < n_seeds and is_kept(folder, line):
            key = line["dataset"], line["nominal_mb"], line["method"], line["person"]
            groups[(*key, line["config_hash"])][line["seed"]] = line
    done = {
        (x["dataset"], x["nominal_mb"], x["method"], x["config_hash"]): x["metrics"]
        for x in lines.read_from(results, EXPERIMENT)
    }
    count = 0
    mine = {key: found for key, found in groups.items() if key[2] == ours and key[3] != "history"}
    for (dataset, mb, _, _, our_hash), our_lines in mine.items():
        for (d, size, method, person, rival_hash), found in groups.items():
            if (d, size) != (dataset, mb) or method == ours:
                continue
            one, other = list(our_lines.values()), list(found.values())
            if method not in NEIGHBOURS_ALONE:
                shared = our_lines.keys() & found.keys()
                one, other = ([each[s] for s in sorted(shared)] for each in (our_lines, found))
            if not one:
                continue
            config = {"ours": our_hash, "rival": rival_hash, "person": person, "seeds": len(one)}
            about = {name: other[0][name] for name in ("split", "budget_mb", "nominal_mb")}
            for metric, metrics in _tests(folder, one, other):
                of = config if metric == FIRST else config | {"metric": metric}
                if done.get((dataset, mb, method, lines.config_hash(of))) == metrics:
                    continue
                lines.append_to(
                    results,
                    EXPERIMENT,
                    {
                        **about, "dataset": dataset, "method": method, "person": person, "seed": 0,
                        "metrics": metrics, "seconds": 0.0, "config": of, "metric": metric,
                    },
                )  # fmt: skip
                count += 1
    return count


def _tests(
    folder: Path, one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Every metric that the lines of both have values of, and what its test found."""
    mine, theirs = ([_values(folder, line) for line in each] for each in (one, other))
    for metric in METRICS:
        if all(metric in values for values in (*mine, *theirs)):
            a, b = (np.mean([values[metric] for values in each], axis=0) for each in (mine, theirs))
            test = paired_t_test(a, b)
            yield metric, {"difference": test.difference, "t": test.t, "p": test.p, "users": test.n}


def _values(folder: Path, line: dict[str, Any]) -> dict[str, np.ndarray]:
    """The values per user of one line, by metric."""
    with np.load(_path(folder, line)) as stored:
        return {name: stored[name].astype(np.float64) for name in stored.files}
