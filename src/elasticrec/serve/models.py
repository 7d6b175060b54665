"""Models that are served: each from the files of its folder, looked at again for new versions."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool

from elasticrec.addresses import is_address
from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.model import FILES, Model
from elasticrec.model_folder import NAME as MODEL
from elasticrec.serve.files import InMemory, OpenFile, held
from elasticrec.serve.middleware import Problem
from elasticrec.serve.mirror import Mirror
from elasticrec.serve.monitoring import Metrics
from elasticrec.stream.chunk import StreamIndex
from elasticrec.stream.publish import NAME, models_document
from elasticrec.stream.release import WITHDRAWN, Release
from elasticrec.stream.side_files import vector_bytes

log = logging.getLogger(__name__)

CATALOGUE = FILES["catalogue"]
Signature = tuple[tuple[str, int, int, int], ...]
"""Changes whenever one of a folder's served files does."""


@dataclass(frozen=True, eq=False)
class Served:
    """One version of a model; it never changes."""

    index: StreamIndex
    stream: OpenFile
    files: dict[str, InMemory]
    """Files beside the stream by name; the catalogue is there after gzip, too."""
    facts: dict[str, Any]
    """The entry of the list of models; its links are relative to `/models/`."""
    document: bytes
    """The facts as JSON."""
    vectors: Vectors


class Vectors:
    """Users' vectors of a model folder, read when the first one is asked for."""

    def __init__(self, root: Path, model_id: str) -> None:
        self._root, self._model_id = root, model_id
        self._lock = threading.Lock()

    def file(self, user: str) -> bytes | None:
        """The file with one user's vector; None where the model has none."""
        try:
            with self._lock:
                ids, vectors = self._read
        except (InputError, OSError) as error:
            log.warning("vectors not loaded", extra={"reason": str(error)})
            raise Problem("not-ready", "vectors could not be loaded; the log says why") from None
        number = int(ids.numbers([user])[0]) if len(vectors) else -1
        if number < 0 or not (vectors[number].any() and np.isfinite(vectors[number]).all()):
            return None
        return vector_bytes(vectors[number], self._model_id)

    @cached_property
    def _read(self) -> tuple[Ids, np.ndarray]:
        """Original user ids, and (U, D) half-precision vectors of length 1, or 0 for none."""
        model = Model.open(self._root)
        vectors = model.server_vectors() if model.has("table") else None
        if vectors is None:
            return Ids.of([]), np.empty((0, 0), dtype=np.float16)
        if model.id != self._model_id:
            raise InputError(f"{self._root}: is another model now, expected {self._model_id}")
        return model.split.user_ids, vectors.astype(np.float16)


class Models:
    """All models by name, and why others are not served."""

    def __init__(self, paths: tuple[Path | str, ...], metrics: Metrics) -> None:
        self._metrics = metrics
        self._mirrors = [Mirror(str(each)) for each in paths if is_address(each)]
        local = [Path(each) for each in paths if not is_address(each)]
        self._paths = (*local, *(mirror.folder for mirror in self._mirrors))
        self._seen: dict[str, Signature] = {}
        self._missing: set[str] = set()
        self.served: dict[str, Served] = {}
        """Never changed, only replaced."""
        self.document = models_document([])
        """The list of models as JSON."""
        self.failures: dict[str, str] = {}
        """Why the version on disk is not served, in one line."""

    def get(self, name: str) -> Served:
        """The present version of a model."""
        found = self.served.get(name)
        if found is None and name in self.failures:
            raise Problem("not-ready", f"model {name} could not be loaded; the log says why")
        if found is None:
            raise Problem("unknown-model", f"no model is called {name!r}")
        return found

    async def watch(self, seconds: float) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await run_in_threadpool(self.look)
            except Exception:
                log.exception("looking at the models failed")

    def look(self) -> None:
        """Take up new versions, and forget models whose folders are gone."""
        for mirror in self._mirrors:
            try:
                mirror.look()
            except InputError as error:  # what was copied before is served
                log.warning("store not reached", extra={"reason": str(error)})
        found = find_models(self._paths)
        gone = (self.served.keys() | self.failures.keys()) - found.keys()
        for name in gone & self._missing:  # twice in a row: a rename takes a moment
            self._serve({key: value for key, value in self.served.items() if key != name})
            self.failures.pop(name, None)
            log.warning("model is gone", extra={"model": name})
        self._missing = gone
        for name, root in found.items():
            self._renew(name, root)

    def _renew(self, name: str, root: Path) -> None:
        """Load the version of a model on disk, unless it was seen; the old one stays till then."""
        try:
            root = root.resolve()  # a link may turn while its files are read
            signature = _signature(root)
            if signature == self._seen.get(name):
                return
            served = load(name, root)
            if _signature(root) != signature:
                raise InputError(f"{root}: changed while it was read")
        except Exception as error:  # whatever lies in a folder, the others are served
            if self.failures.get(name) != str(error):
                known = isinstance(error, InputError | OSError)
                about = {"model": name, "reason": str(error)}
                log.warning("model not loaded", extra=about, exc_info=None if known else error)
                self._metrics.failures.add(1, name)
            self.failures[name] = str(error)
            return
        self._seen[name] = signature
        self.failures.pop(name, None)
        self._serve({**self.served, name: served})
        self._metrics.loads.add(1, name)
        log.info("model loaded", extra={"model": name, "model_id": served.facts["model_id"]})

    def _serve(self, served: dict[str, Served]) -> None:
        """Replace the models that are served, and their list."""
        entries = []
        for _, each in sorted(served.items()):
            files = {part: f"models/{link}" for part, link in each.facts["files"].items()}
            entries.append({**each.facts, "files": files})
        self.served, self.document = served, models_document(entries)

    def close(self) -> None:
        """Remove what was copied."""
        for mirror in self._mirrors:
            mirror.close()

    def measure(self) -> None:
        """Set the gauges of the models."""
        served, failures, metrics = self.served, self.failures, self._metrics
        metrics.models.values = {(n, s.facts["model_id"]): [1.0] for n, s in served.items()}
        metrics.ready.values = {(n,): [float(n not in failures)] for n in served | failures}


def load(name: str, root: Path) -> Served:
    """The model in a folder, every file checked against the hash that is recorded of it."""
    release = Release.of(root)
    files = held(release.beside, packed={CATALOGUE} & release.beside.keys())
    links = {file.partition(".")[0]: f"{name}/{file}" for file in release.beside}
    facts = release.facts(name, {"stream": f"{name}/{FILES['stream']}"} | links)
    facts["etag"] = f'"{facts["sha256"]}-{facts["bytes"]}"'
    document = (json.dumps(facts, indent=1) + "\n").encode()
    vectors = Vectors(root, facts["model_id"])
    stream = OpenFile(release.stream, release.sha256)
    return Served(release.index, stream, files, facts, document, vectors)


def find_models(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Model folders by name: the given ones, and those inside given folders."""
    found: dict[str, Path] = {}
    for path in paths:
        for root in [path] if (path / MODEL).exists() else sorted(path.glob("*")):
            name = Path(os.path.abspath(root)).name  # a link's own name
            if NAME.fullmatch(name) and (root / MODEL).exists():
                found.setdefault(name, root)
    return found


def check_models(paths: tuple[Path | str, ...]) -> None:
    """Refuse paths and addresses at which there is nothing to serve."""
    for path in paths:
        found = Mirror(str(path)).models() if is_address(path) else find_models((Path(path),))
        if not found:
            raise InputError(
                f"{path}: is no model folder and holds none, expected a folder with model.json "
                "whose name has letters, digits, dots, dashes and underscores"
            )


def _signature(root: Path) -> Signature:
    """Name, inode, time and size of each file that is served and there."""
    names = (MODEL, FILES["stream"], FILES["curve"], CATALOGUE, WITHDRAWN)
    states = []
    for name in names:
        with suppress(FileNotFoundError):
            found = (root / name).stat()
            states.append((name, found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(states)
