"""Ledger: measured compositions in one file, a line each, that survives being killed.

The first line is a fingerprint of all that a measurement depends on. A line is finished once its
newline is written; what follows the last newline is a torn line: dropped, and measured again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from elasticrec.errors import InputError

log = logging.getLogger(__name__)

FORMAT = "elasticrec ledger 1"
"""What the first line of a ledger says it is."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-*"
"""Depths and neighbour counts, 0 to 64, are one digit each; a whole block (32) is `w`."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured compositions: D_est."""

    depths: np.ndarray
    """(n, G, N) uint8."""
    neighbours: np.ndarray
    """(n, G) uint8."""
    values: np.ndarray
    """(n,) float64: the metric."""

    def __len__(self) -> int:
        return len(self.values)


class Ledger:
    """One file of measured draws; open it with the fingerprint of what is measured."""

    def __init__(self, path: Path | str, fingerprint: Mapping[str, Any]) -> None:
        """The ledger at a path, made if there is none; one of another fingerprint is refused."""
        self.path = Path(path)
        self._head = {"format": FORMAT, **json.loads(json.dumps(fingerprint))}
        if not self.path.parent.is_dir():
            raise InputError(f"{path}: cannot be written, there is no folder {self.path.parent}")
        self._file: IO[bytes] = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self._lines = self._recover()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _recover(self) -> dict[int, dict[str, Any]]:
        """The finished lines by draw; a torn last line is cut off, a missing head written."""
        self._file.seek(0)
        content = self._file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            log.warning("%s: dropped a torn last line of %d bytes", self.path, len(content) - end)
            self._file.truncate(end)
        lines = content[:end].splitlines()
        if not lines:
            self._write([self._head])
            return {}
        head = _read_head(self.path, lines[0])
        for name in sorted(head.keys() | self._head.keys()):
            _check_same(self.path, name, head.get(name), self._head.get(name))
        found: dict[int, dict[str, Any]] = {}
        for number, line in enumerate(lines[1:], start=2):
            sample = _parse(self.path, line, number)
            if not {"i", "y", "depths", "neighbours"} <= sample.keys() or sample["i"] in found:
                raise InputError(f"{self.path}: line {number} is no measurement, or a second one")
            found[sample["i"]] = sample
        return found

    @property
    def done(self) -> set[int]:
        """The draws that are finished."""
        return set(self._lines)

    def append(self, numbers: Iterable[int], samples: Samples) -> None:
        """Write a line per draw; when this returns, none of them is lost by a kill."""
        lines: list[dict[str, Any]] = [
            {"i": int(i), "y": float(y), "depths": _digits(depths), "neighbours": _digits(kept)}
            for i, y, depths, kept in zip(
                numbers, samples.values, samples.depths, samples.neighbours, strict=True
            )
        ]
        self._write(lines)
        self._lines |= {line["i"]: line for line in lines}

    def _write(self, lines: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        self._file.write(text.encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def samples(self, numbers: Sequence[int]) -> Samples:
        """The measurements of some draws, in their order; all of them must be finished."""
        missing = [i for i in numbers if i not in self._lines]
        if missing:
            raise InputError(f"{self.path}: lacks {len(missing)} draws, the first is {missing[0]}")
        lines = [self._lines[i] for i in numbers]
        neighbours = _numbers([line["neighbours"] for line in lines])  # (n, G)
        depths = _numbers([line["depths"] for line in lines])  # (n, G·N)
        return Samples(
            depths.reshape(*neighbours.shape, -1),
            neighbours,
            np.array([line["y"] for line in lines], dtype=np.float64),
        )


def check_metric(path: Path, metric: str) -> None:
    """Refuse a ledger of another metric; one that is missing, or torn in its head, is fine."""
    if not path.exists():
        return
    with path.open("rb") as file:
        line = file.readline()
    if line.endswith(b"\n"):
        _check_same(path, "metric", _read_head(path, line).get("metric"), metric)


def _read_head(path: Path, line: bytes) -> dict[str, Any]:
    """The fingerprint that a ledger's first line holds."""
    head = _parse(path, line, 1)
    if head.get("format") != FORMAT:
        raise InputError(f"{path}: not a ledger, expected a first line with {FORMAT!r}")
    return head


def _check_same(path: Path, name: str, found: object, expected: object) -> None:
    if found != expected:
        raise InputError(
            f"{path}: holds measurements of another {name} ({found}, expected {expected}); "
            "move it away (or --restart) to measure anew"
        )


def _parse(path: Path, line: bytes, number: int) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise InputError(f"{path}: line {number} is damaged, expected a JSON object")
    return parsed


def _digits(values: np.ndarray) -> str:
    """Small numbers of any shape as one string, a digit each."""
    return "".join(DIGITS[value] for value in values.ravel().tolist())


def _numbers(texts: list[str]) -> np.ndarray:
    """(n, length) uint8 numbers behind strings of equal length."""
    table = np.zeros(128, dtype=np.uint8)
    table[[ord(digit) for digit in DIGITS]] = np.arange(len(DIGITS))
    codes = np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8)
    return table[codes].reshape(len(texts), -1)


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a ledger that another process is writing; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"{path}: another process is writing it; wait for that one") from None
