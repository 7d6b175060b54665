"""Registry: the models that are served now, kept up to date with their folders.

A folder is looked at every few seconds. When its model.json says something new, the new version is
loaded beside the old one, which goes on answering; then one assignment puts it in its place. What
cannot be loaded (a folder that is being written, say) is tried again, and the old version stays.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

from elasticrec.blocks.folder import ModelFolder
from elasticrec.errors import InputError
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.locks import read_json, write_json
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.models import Served, check_servable, load, version_of
from elasticrec.serve.problems import Problem

log = logging.getLogger(__name__)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a model may be called."""
MISSING_LOOKS = 2
"""How often in a row a folder must be missing before its model is gone: renames take a moment."""
MOST_LOOKS = 12
"""The longest pause after failures, in looks."""
Signature = tuple[int, int, int]


@dataclass
class Source:
    """A model folder that is watched."""

    root: Path
    seen: Signature | None = None
    """The model.json that was last loaded, or found to say nothing new."""
    failures: int = 0
    pause: int = 0
    """Looks to leave out after failures."""
    missing: int = 0


class Registry:
    """Models by name."""

    def __init__(self, config: ServeConfig, folder: Path, metrics: Metrics) -> None:
        """No models yet; `look` loads them.

        Args:
            folder: where the names of models are remembered that once were.
        """
        self._config, self._folder, self._metrics = config, folder, metrics
        self._sources: dict[str, Source] = {}
        self._now: dict[str, Served] = {}
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def now(self) -> dict[str, Served]:
        """What is served at this moment; never changed, only replaced."""
        return self._now

    @property
    def is_ready(self) -> bool:
        """Whether every folder that there is was loaded."""
        return bool(self._now) and all(name in self._now for name in self._sources)

    def get(self, name: str) -> Served:
        """The present version of a model."""
        served = self._now.get(name)
        if served is not None:
            return served
        if name in self._sources:
            raise Problem(
                "not-ready", f"model {name} is being loaded", headers={"retry-after": "1"}
            )
        if NAME.fullmatch(name) and read_json(self._folder / f"{name}.json"):
            raise Problem("model-gone", f"model {name} is not served any more")
        raise Problem("unknown-model", f"no model is called {name!r}")

    def look(self) -> list[Served]:
        """The versions that are new since the last look, after they took their places."""
        found = find_models(self._config.models)
        self._drop_missing(found)
        for name, root in found.items():
            source = self._sources.setdefault(name, Source(root))
            source.root, source.missing = root, 0
        fresh = []
        for name in found:
            served = self._renewed(name, self._sources[name])
            if served is not None:
                self._now = {**self._now, name: served}
                self._remember(served)
                fresh.append(served)
        return fresh

    def _drop_missing(self, found: dict[str, Path]) -> None:
        for name in [name for name in self._sources if name not in found]:
            self._sources[name].missing += 1
            if self._sources[name].missing >= MISSING_LOOKS:
                del self._sources[name]
                self._now = {key: value for key, value in self._now.items() if key != name}
                self._metrics.models.drop(name)
                log.warning("model is gone", extra={"model": name})

    def _renewed(self, name: str, source: Source) -> Served | None:
        """A new version; None where there is none, or none that can be loaded."""
        if source.pause:
            source.pause -= 1
            return None
        try:
            signature = _signature(source.root)
            if signature == source.seen:
                return None
            old = self._now.get(name)
            if old is not None and version_of(ModelFolder.open(source.root), self._config) == (
                old.version
            ):
                source.seen = signature
                return None
            served = load(name, source.root, self._config)
        except Exception as error:  # whatever lies in a folder, the others are served
            source.failures += 1
            source.pause = min(2**source.failures, MOST_LOOKS)
            self._metrics.failures.add(1, name)
            unforeseen = None if isinstance(error, InputError | OSError) else error
            about = {"model": name, "reason": str(error)}
            log.warning("model not loaded", extra=about, exc_info=unforeseen)
            return None
        source.seen, source.failures = signature, 0
        return served

    def _remember(self, served: Served) -> None:
        self._metrics.loads.add(1, served.name)
        self._metrics.loaded.set(served.loaded, served.name)
        self._metrics.models.drop(served.name)
        self._metrics.models.set(1, served.name, served.model_id)
        write_json(self._folder / f"{served.name}.json", {"model_id": served.model_id})
        log.info("model loaded", extra={"model": served.name, "model_id": served.model_id})


def find_models(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Model folders by name: the given ones, and those inside given folders."""
    found: dict[str, Path] = {}
    for path in paths:
        inside = [path] if (path / "model.json").exists() else sorted(_folders(path))
        for root in inside:
            name = Path(os.path.abspath(root)).name  # a link's own name
            if NAME.fullmatch(name) and (root / "model.json").exists():
                found.setdefault(name, root)
    return found


def check_models(paths: tuple[Path, ...]) -> None:
    """Refuse folders in which there is nothing to serve."""
    for path in paths:
        inside = find_models((path,))
        if not inside:
            raise InputError(
                f"{path} is no model folder and holds none; expected a folder with model.json, "
                "called by letters, digits, dots, dashes and underscores"
            )
        for root in inside.values():
            check_servable(ModelFolder.open(root))


def _folders(path: Path) -> list[Path]:
    try:
        return [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _signature(root: Path) -> Signature:
    """What changes whenever model.json does."""
    about = (root / "model.json").stat()
    return about.st_ino, about.st_mtime_ns, about.st_size
