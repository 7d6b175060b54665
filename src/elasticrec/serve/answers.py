"""Answers: what searches found, kept on the shelf, so that no process of a host searches again."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from elasticrec.serve.course import Answer
from elasticrec.serve.locks import read_json, remove_partial, write_json

NAME = re.compile(r"([0-9a-f]{64})-([0-9]{1,19})\.json")


class Answers:
    """One small file per version and step: the rows, the estimate, and the bundle once packed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known: dict[str, tuple[Answer, str | None]] = {}

    def answer(self, version: str, step: int) -> Answer | None:
        """What was found for a step; None where no process has searched it."""
        known = self._known.get(_key(version, step)) or self._read(version, step)
        return None if known is None else known[0]

    def bundle(self, version: str, step: int) -> str | None:
        """Hex hash of the bundle of a step; None where no process has packed it."""
        known = self._known.get(_key(version, step))
        if known is None or known[1] is None:
            known = self._read(version, step)  # another process may have packed it
        return None if known is None else known[1]

    def put(self, version: str, step: int, answer: Answer, sha256: str | None) -> None:
        """Keep what was found, and the hash of its bundle."""
        content = {"rows": list(answer.rows), "estimate": answer.estimate}
        content |= {"seconds": answer.seconds, "sha256": sha256}
        write_json(self._folder / f"{_key(version, step)}.json", content)
        self._known[_key(version, step)] = answer, sha256

    def _read(self, version: str, step: int) -> tuple[Answer, str | None] | None:
        stored = read_json(self._folder / f"{_key(version, step)}.json")
        try:
            known = None if stored is None else _parsed(stored)
        except (KeyError, TypeError, ValueError):
            return None
        if known is not None:
            self._known[_key(version, step)] = known
        return known

    def clean(self, versions: Collection[str]) -> None:
        """Forget what was found for other versions than these."""
        remove_partial(self._folder)
        for path in self._folder.iterdir():
            named = NAME.fullmatch(path.name)
            if named and named[1] not in versions:
                path.unlink(missing_ok=True)
        self._known = {k: v for k, v in self._known.items() if k.partition("-")[0] in versions}


def _key(version: str, step: int) -> str:
    return f"{version}-{step}"


def _parsed(stored: dict[str, Any]) -> tuple[Answer, str | None]:
    rows = tuple(int(row) for row in stored["rows"])
    answer = Answer(rows, float(stored["estimate"]), float(stored["seconds"]))
    return answer, None if stored["sha256"] is None else str(stored["sha256"])
