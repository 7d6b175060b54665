"""Who is better: halves of the validation users, values per user, and tests on them.

Settings are chosen on one half of the users and reported on the other. Values per user lie beside
the results, in a folder that is not committed; the tests made of them are lines of their own.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any, NamedTuple

import numpy as np

from elasticrec.data.split import Split
from elasticrec.evaluation.choosing import paired_t_test
from elasticrec.evaluation.ranking import Evaluation, Part
from experiments import lines
from experiments.command import LOCAL

VALUES = LOCAL / "values"
TESTED = ("recall@50", "ndcg@50")
"""Metrics whose values per user are kept."""
ALPHA = 0.05
_CELL = ("dataset", "part", "person", "bytes_per_item", "method", "against", "config_hash")


class Halves(NamedTuple):
    """The users of a part who have something to find, in two halves."""

    choosing: np.ndarray
    """Numbers of the users on whom settings are chosen."""
    reporting: np.ndarray
    """Numbers of the users on whom results are reported."""


def halves(split: Split, part: Part = "validation", most: int = 0) -> Halves:
    """Two halves of the users by a hash of their ids, so that no seed moves anybody.

    Args:
        most: users of each half, at most, drawn evenly; 0 takes all.
    """
    able = np.flatnonzero(getattr(split, part).per_user > 0)
    coin = np.array([_hash(name) % 2 for name in split.user_ids.take(able).values], dtype=bool)
    return Halves(*(_thinned(half, most) for half in (able[~coin], able[coin])))


def _hash(name: Any) -> int:
    return hashlib.blake2b(str(name).encode(), digest_size=1).digest()[0]


def _thinned(users: np.ndarray, most: int) -> np.ndarray:
    if not most or len(users) <= most:
        return users
    return users[np.linspace(0, len(users) - 1, most).astype(np.int64)]


def record(
    experiment: str, fields: Mapping[str, Any], found: Evaluation, *, split: Split
) -> lines.Line:
    """Append the line of an evaluation and keep its values per user.

    Args:
        fields: what was measured: data set, method, person, size in bytes per item, seed and so on.
    """
    about = {
        "split": split.kind,
        "budget_mb": round(fields["bytes_per_item"] * split.n_items) / 1e6,
        "metrics": found.metrics | {"users": found.n_users},
    }
    line = lines.append(experiment, about | dict(fields))
    keep_values(line, found)
    return line


def keep_values(line: Mapping[str, Any], found: Evaluation, folder: Path | None = None) -> None:
    """Write the values per user of a line's evaluation."""
    path = _path(line, folder or VALUES)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: found.per_user[name].astype(np.float32) for name in TESTED}
    np.savez_compressed(path, users=found.users, **kept)  # type: ignore[arg-type]


def _path(line: Mapping[str, Any], folder: Path) -> Path:
    words = (line["method"], line["person"], f"{line['bytes_per_item']:g}", line["part"])
    name = "-".join(str(word).replace(" ", "_") for word in words)
    version = lines.config_hash([line["config_hash"], line.get("code_hash"), line.get("format")])
    return folder / line["experiment"] / line["dataset"] / f"{name}-{version}-{line['seed']}.npz"


def compare(
    experiment: str,
    first: Sequence[str],
    *,
    beside: Sequence[str] = (),
    across: bool = True,
    results: Path | None = None,
    values: Path | None = None,
) -> int:
    """Append paired tests of some methods against all others, and return how many.

    A test is of one data set, kind of person and size; a user's value is the mean over the seeds
    that both methods have. Cells that were tested before with the same seeds are left out.

    Args:
        first: methods that are tested against every other one.
        beside: experiments whose lines are compared as well.
        across: with lines beside, compare them whatever the kind of person.
    """
    cells: dict[tuple[Any, ...], dict[str, dict[int, lines.Line]]] = defaultdict(dict)
    found = [line for name in (experiment, *beside) for line in lines.latest(name, results)]
    for line in found:
        if _path(line, values or VALUES).exists():
            person = None if beside and across else line["person"]
            key = line["dataset"], line["part"], person, line["bytes_per_item"]
            cells[key].setdefault(line["method"], {})[line["seed"]] = line
    before = lines.read(f"{experiment}-tests", results)
    count = 0
    for by_method in cells.values():
        for n, mine in enumerate(first):
            others = [method for method in by_method if method not in first[: n + 1]]
            for other in others if mine in by_method else ():
                test = _tested(by_method[mine], by_method[other], values or VALUES)
                if test and not lines.holds(before, **{name: test[name] for name in _CELL}):
                    lines.append(f"{experiment}-tests", test, results)
                    count += 1
    return count


def _tested(
    ours: dict[int, lines.Line], theirs: dict[int, lines.Line], values: Path
) -> lines.Line | None:
    """The test of one cell over the seeds that both methods have; None without any.

    A method with one seed alone is compared with all seeds of the other.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds:
        return None
    mine, other = (
        list(side.values() if len(seeds) == 1 else (side[seed] for seed in seeds))
        for side in (ours, theirs)
    )
    a, b = mine[0], other[0]
    config = {"seeds": [[x["seed"] for x in side] for side in (mine, other)]} | {
        name: [x["config_hash"], x.get("code_hash"), x.get("format")]
        for name, x in (("ours", a), ("theirs", b))
    }
    about = {name: a[name] for name in ("dataset", "part", "person", "bytes_per_item")}
    about |= {"method": a["method"], "against": b["method"], "seed": 0}
    metrics: dict[str, float] = {}
    for metric in TESTED:
        one, two = (
            np.mean([_values(line, metric, values) for line in side], axis=0)
            for side in (mine, other)
        )
        test = paired_t_test(one, two)
        lead = float(one.mean() / max(float(two.mean()), 1e-12) - 1)
        metrics |= {f"{metric} lead": lead, f"{metric} p": test.p}
    about |= {"metrics": metrics, "users": test.n, "seeds": config["seeds"]}
    return about | {"config_hash": lines.config_hash(config)}


def _values(line: lines.Line, metric: str, folder: Path) -> np.ndarray:
    """One line's values per user, by rising number of user."""
    with np.load(_path(line, folder)) as stored:
        return np.asarray(stored[metric][np.argsort(stored["users"])], dtype=np.float64)


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value after Holm's correction for all of them."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = highest
    return [float(p) for p in adjusted]


def welch(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p of Welch's t-test that two methods' seeds have the same mean."""
    from scipy.special import stdtr

    if len(a) < 2 or len(b) < 2:
        raise ValueError(f"{len(a)} and {len(b)} seeds, expected at least two of both")
    x, y = variance(a) / len(a), variance(b) / len(b)
    if x + y == 0:
        return 1.0 if mean(a) == mean(b) else 0.0
    t = abs(mean(a) - mean(b)) / sqrt(x + y)
    freedom = (x + y) ** 2 / (x**2 / (len(a) - 1) + y**2 / (len(b) - 1))
    return float(2 * stdtr(freedom, -t)) if t < inf else 0.0
