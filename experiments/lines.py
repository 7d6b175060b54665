"""Result lines: one JSON object per measurement, appended by the command that measured it.

Each experiment has one file, `results/<experiment>.jsonl`, and all share `results/configs.jsonl`,
which holds each config once, by its hash. A line is known by its `KEY`: settings, format version
and code. When a measurement is repeated, the newest line wins.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from elasticrec.files import save_bytes
from experiments.provenance import ROOT, command, commit, machine, without_machine_paths

RESULTS = ROOT / "experiments" / "results"
CONFIGS = "configs.jsonl"
"""Every config by its hash."""

SETTINGS = (
    *("experiment", "dataset", "split", "part", "method", "person", "against"),
    *("bytes_per_item", "seed"),
)
"""The fields that name a cell of a table."""
KEY = (*SETTINGS, "budget_mb", "config_hash", "format", "code_hash", "most_users")
"""The fields that say which measurement a line holds."""
FIELDS = (
    *SETTINGS,
    *("nominal_mb", "budget_mb", "file_bytes", "dimensions", "metrics", "seconds", "config_hash"),
    *("format", "code_hash", "time", "commit", "machine", "command"),
)
"""The order in which fields are written; others follow them."""

Line = dict[str, Any]


def append(experiment: str, fields: Mapping[str, Any], folder: Path | None = None) -> Line:
    """The line as written to `<folder>/<experiment>.jsonl`, and its config beside.

    `fields` holds whatever says what was measured; time, commit, machine and command are added.

    Args:
        folder: by default `experiments/results`.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", experiment):
        raise ValueError(f"an experiment's name is lower case with hyphens, got {experiment!r}")
    folder = folder or RESULTS
    given = {name: plain(value) for name, value in fields.items()}
    config = given.pop("config", None) or {}
    line = {
        "experiment": experiment,
        "config_hash": config_hash(config),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "command": command(),
    } | given
    known = [name for name in FIELDS if line.get(name) is not None]
    line = {name: line[name] for name in (*known, *(name for name in line if name not in FIELDS))}
    if config:
        _keep_config(folder, line["config_hash"], config)
    _append_line(folder / f"{experiment}.jsonl", line)
    return line | {"config": config}


def read(experiment: str, folder: Path | None = None) -> list[Line]:
    """The newest line of each measurement, oldest first, with its config; [] without a file."""
    folder = folder or RESULTS
    configs = _configs(folder)
    newest: dict[tuple[Any, ...], Line] = {}
    for line in _parsed(folder / f"{experiment}.jsonl"):
        if "config" not in line:
            line["config"] = configs.get(line.get("config_hash", ""), {})
        which = tuple(line.get(name) for name in KEY)
        newest.pop(which, None)
        newest[which] = line
    return list(newest.values())


def every(experiment: str, folder: Path | None = None) -> list[Line]:
    """All lines of an experiment, of measurements that were repeated, too."""
    return _parsed((folder or RESULTS) / f"{experiment}.jsonl")


def remove(experiment: str, unwanted: Callable[[Line], bool], folder: Path | None = None) -> int:
    """How many lines of an experiment were unwanted, and are gone, as are configs that none names.

    For commands that retire what they replaced: no line is ever edited.
    """
    folder = folder or RESULTS
    found = every(experiment, folder)
    kept = [line for line in found if not unwanted(line)]
    if len(kept) < len(found):
        _rewrite(folder / f"{experiment}.jsonl", kept)
        others = (path for path in folder.glob("*.jsonl") if path.name != CONFIGS)
        named = {line.get("config_hash") for path in others for line in _parsed(path)}
        configs = _parsed(folder / CONFIGS)
        _rewrite(folder / CONFIGS, [x for x in configs if x["config_hash"] in named])
    return len(found) - len(kept)


def latest(experiment: str, folder: Path | None = None) -> list[Line]:
    """The lines of the newest settings and code: one for each cell and seed of a table."""
    found = read(experiment, folder)
    cell = [name for name in SETTINGS if name != "seed"]
    newest = {tuple(line.get(name) for name in cell): _version(line) for line in found}
    return [x for x in found if newest[tuple(x.get(name) for name in cell)] == _version(x)]


def latest_tests(experiment: str, **wanted: Any) -> list[Line]:
    """The newest test of each cell that has all the wanted fields, of `comparing.compare`."""
    newest: dict[tuple[Any, ...], Line] = {}
    for line in read(f"{experiment}-tests"):
        if holds([line], **wanted):
            names = ("dataset", "part", "person", "bytes_per_item", "method", "against")
            newest[tuple(line.get(name) for name in names)] = line
    return list(newest.values())


def holds(found: Iterable[Line], **wanted: Any) -> bool:
    """True where some line has all of these fields."""
    return any(all(line.get(name) == value for name, value in wanted.items()) for line in found)


def mean_and_deviation(found: list[Line], metric: str) -> str:
    """A metric's mean over some lines, ± its deviation where there are several."""
    values = [line["metrics"][metric] for line in found]
    spread = f" ± {stdev(values):.4f}" if len(values) > 1 else ""
    return f"{mean(values):.4f}{spread}"


def config_hash(config: Any) -> str:
    """Twelve hex digits that name a configuration, whatever the order of its fields."""
    canonical = json.dumps(plain(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numpy numbers, dataclasses, sets and paths translated."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (str, Path)):
        return without_machine_paths(str(value))
    return value.tolist() if hasattr(value, "tolist") else value


def _version(line: Line) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in KEY[len(SETTINGS) + 1 :])


def _parsed(path: Path) -> list[Line]:
    """Every line of a file; what follows the last end of line is torn, and left out."""
    if not path.exists():
        return []
    found = []
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            raise ValueError(f"{path.name}, line {number}: expected a JSON object")
        found.append(line)
    return found


def _configs(folder: Path) -> dict[str, Any]:
    """Every stored config by its hash."""
    return {line["config_hash"]: line["config"] for line in _parsed(folder / CONFIGS)}


def _keep_config(folder: Path, name: str, config: Any) -> None:
    if name not in _configs(folder):
        _append_line(folder / CONFIGS, {"config_hash": name, "config": config})


def _rewrite(path: Path, found: list[Line]) -> None:
    """Write all lines of a file anew, whole or not at all."""
    text = "".join(json.dumps(line, allow_nan=False, ensure_ascii=False) + "\n" for line in found)
    save_bytes(path, text.encode())


def _append_line(path: Path, line: Line) -> None:
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
