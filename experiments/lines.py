"""Result lines: one JSON object per measurement, appended by the command that measured it.

Each experiment has one file, `results/<experiment>.jsonl`. A line is known by its `KEY`; when a
measurement is repeated, the newest line wins. The others can be set aside: files stay small.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from elasticrec.files import written_whole
from experiments.provenance import ROOT, command, commit, machine, without_machine_paths

RESULTS = ROOT / "experiments" / "results"
SUPERSEDED = "-superseded"
"""What the name of an experiment's file ends in where it holds lines that newer ones replaced."""

KEY = (
    "experiment",
    "dataset",
    "split",
    "method",
    "person",
    "budget_mb",
    "seed",
    "config_hash",
)
"""The fields that say which measurement a line holds."""

FIELDS = (
    *("experiment", "dataset", "split", "method", "person"),
    *("budget_mb", "nominal_mb", "file_bytes", "dimensions", "seed"),
    *("metrics", "seconds", "config", "config_hash", "commit", "machine", "command"),
)
"""The fields every line has, in the order they are written; fields of your own follow them."""

DATASETS = {"goodbooks", "gowalla", "yelp2018", "amazon-book"}
SPLITS = {"published", "random-70-10-20", "temporal"}
METHODS = {
    # full models, by base
    *("mf", "lightgcn", "history"),
    # ours, the paper's, and the controls of the search
    *("ours", "rule-printed", "rule-aligned"),
    *("searched", "uniform", "best-of-random", "greedy", "greedy-measured"),
    # rivals at equal bytes
    *("pmf", "lightgcn-int8", "pmf-int8", "dlrm-ce", "lightrec", "esapn", "autoemb"),
    *("matryoshka", "pruning", "faiss-pq", "faiss-sq4", "faiss-sq8", "itemcf"),
    *("sparse-linear", "truncation"),
}


def append(experiment: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The line as written to `results/<experiment>.jsonl`.

    `fields` holds `dataset`, `split`, `method`, `seed`, `metrics`, `seconds` and `config` (a
    mapping or a dataclass), and whatever else is worth keeping. `config_hash`, `commit`, `machine`
    and `command` are filled in here; other fields of the standard line are null where not given.
    """
    _check_word("dataset", fields.get("dataset"), DATASETS)
    _check_word("split", fields.get("split"), SPLITS)
    _check_word("method", fields.get("method"), METHODS)
    for name in ("seed", "metrics", "seconds", "config"):
        if fields.get(name) is None:
            raise ValueError(f"a result line of {experiment!r} needs {name!r}")
    return append_to(RESULTS, experiment, fields)


def read(experiment: str) -> list[dict[str, Any]]:
    """The newest line of each measurement in `results/<experiment>.jsonl`, oldest first."""
    return read_from(RESULTS, experiment)


def by_seed(found: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The lines that differ in nothing but their seed, together, in the order they came."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in found:
        key = tuple(line.get(name) for name in KEY if name != "seed")
        groups.setdefault(key, []).append(line)
    return list(groups.values())


def mean_and_deviation(found: list[dict[str, Any]], metric: str) -> str:
    """A metric's mean over some lines, ± its deviation where there are several."""
    values = [line["metrics"][metric] for line in found]
    spread = f" ± {stdev(values):.4f}" if len(values) > 1 else ""
    return f"{mean(values):.4f}{spread}"


def append_to(folder: Path, experiment: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The line as written to `<folder>/<experiment>.jsonl`: completed, its words not checked."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", experiment):
        raise ValueError(f"an experiment's name is lower case with hyphens, got {experiment!r}")
    config = _plain(fields.get("config") or {})
    filled = {
        "experiment": experiment,
        "config_hash": config_hash(config),
        "commit": commit(),
        "machine": machine(),
        "command": command(),
    }
    given = {name: _plain(value) for name, value in fields.items()}
    line = dict.fromkeys(FIELDS) | filled | given | {"config": config}
    _append_line(folder / f"{experiment}.jsonl", line)
    return line


def read_from(folder: Path, experiment: str, *, key: tuple[str, ...] = KEY) -> list[dict[str, Any]]:
    """The newest line of each measurement in `<folder>/<experiment>.jsonl`; [] without a file.

    Args:
        key: the fields in which two measurements differ.
    """
    path = folder / f"{experiment}.jsonl"
    if not path.exists():
        return []
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last \n is torn
    for number, text in enumerate(whole, start=1):
        try:
            line = json.loads(text)
            which = tuple(line.get(name) for name in key)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"{path.name}, line {number}: expected a JSON object") from error
        newest.pop(which, None)
        newest[which] = line
    return list(newest.values())


def set_aside(folder: Path, experiment: str) -> int:
    """How many lines newer ones of the same key superseded: they move to a file beside.

    That is `<experiment>-superseded.jsonl`. Nobody may append meanwhile.
    """
    path = folder / f"{experiment}.jsonl"
    whole = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    newest = {tuple(json.loads(text).get(name) for name in KEY): n for n, text in enumerate(whole)}
    staying = set(newest.values())
    old = [text for n, text in enumerate(whole) if n not in staying]
    if old:
        with (folder / f"{experiment}{SUPERSEDED}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in old)
        with written_whole(path) as file:
            file.write("".join(f"{whole[n]}\n" for n in sorted(staying)).encode())
    return len(old)


def config_hash(config: Any) -> str:
    """Twelve hex digits that name a configuration, whatever the order of its fields."""
    canonical = json.dumps(_plain(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _append_line(path: Path, line: dict[str, Any]) -> None:
    """Add one line under a lock, over the torn one that a killed process may have left."""
    text = json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        before = file.read()
        if before and not before.endswith(b"\n"):
            file.truncate(before.rfind(b"\n") + 1)
        file.write(text.encode())


def _plain(value: Any) -> Any:
    """The value as what JSON can hold: numpy numbers, dataclasses, sets and paths translated."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, Path)):
        return without_machine_paths(str(value))
    return value.tolist() if hasattr(value, "tolist") else value


def _check_word(field: str, value: Any, known: set[str]) -> None:
    if value not in known:
        raise ValueError(f"{field} is one of {', '.join(sorted(known))}; got {value!r}")
