"""Served: one version of a model in memory, ready to answer. Load: from its folder, checked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from elasticrec.blocks.folder import FILES, ModelFolder, Part
from elasticrec.stream.catalogue import catalogue
from elasticrec.bundle.material import Material
from elasticrec.stream.person import vector_file
from elasticrec.errors import InputError
from elasticrec.data.ids import Ids
from elasticrec.search.searcher import Searcher
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.course import Course
from elasticrec.serve.steps import Steps

NEEDED = ("split", "table", "groups", "menu", "codes", "neighbours", "mixing", "estimator")
"""Parts that a model must have to be served."""
_P = TypeVar("_P", bound=Part)


@dataclass(frozen=True, eq=False)
class Served:
    """One version of a model; never changes."""

    name: str
    """What it is called in URLs."""
    version: str
    """Hex sha256 of everything that its bundles depend on."""
    material: Material
    """What bundles are packed from."""
    course: Course
    """Where searches start."""
    steps: Steps
    """What budgets are rounded down to."""
    catalogue: bytes
    """Ids and titles, as devices read them."""
    user_ids: Ids
    """Original ids of the users who have a vector."""
    users: np.ndarray | None
    """(U, D) their vectors; None where devices need none."""
    loaded: float
    """When it was loaded, in seconds since 1970."""

    @property
    def model_id(self) -> str:
        """Hex sha256 that bundles and vectors carry."""
        return self.material.model_id

    @property
    def metric(self) -> str:
        """What estimates estimate, such as `recall@50`."""
        return self.course.searcher.metric

    @property
    def vector_bytes(self) -> int:
        """What a person's vector takes beside a bundle, within the budget."""
        return self.material.accounting().reserved_bytes

    @cached_property
    def catalogue_sha256(self) -> str:
        """Hex hash of the catalogue."""
        return hashlib.sha256(self.catalogue).hexdigest()

    def vector(self, user: str) -> bytes | None:
        """The file with one user's vector; None where the model has none."""
        if self.users is None:
            return None
        number = int(self.user_ids.numbers([user])[0])
        if number < 0:
            return None
        try:
            return vector_file(self.users[number], self.material.codes, self.model_id)
        except InputError:  # a vector of length 0 says nothing
            return None


class ReadOnce(ModelFolder):
    """A model folder whose parts are read once, however many ask for them."""

    def __init__(self, root: Path, content: dict[str, Any]) -> None:
        super().__init__(root, content)
        self._read: dict[str, Part] = {}

    def load_part(self, name: str, load: Callable[[Path], _P]) -> _P:
        """A part, checked against model.json the first time."""
        if name not in self._read:
            self._read[name] = super().load_part(name, load)
        return cast("_P", self._read[name])

    def forget(self) -> None:
        """Let go of what was read."""
        self._read.clear()


def check_servable(folder: ModelFolder) -> None:
    """Refuse a folder that lacks a part, before any part is read."""
    missing = [part for part in NEEDED if not folder.has(part)]
    if missing:
        raise InputError(
            f"{folder.root} has no {', '.join(missing)}; bundles can be made of a model that was "
            "trained, stored and estimated"
        )


def version_of(folder: ModelFolder, config: ServeConfig) -> str:
    """Hex sha256 of all that the bundles of a folder depend on: parts, date, settings."""
    named = [f"{part}:{folder.fingerprint(part)}" for part in FILES if folder.has(part)]
    named.append(f"trained:{folder.about.get('trained')}")
    named += [f"{name}:{getattr(config, name)}" for name in ("ids", "map", "rounds", "children")]
    named += [f"seed:{config.seed}", f"steps:{config.steps}"]
    return hashlib.sha256("|".join(named).encode()).hexdigest()


def load(name: str, root: Path, config: ServeConfig) -> Served:
    """The model in a folder, every part checked against what model.json says of it."""
    folder = cast("ReadOnce", ReadOnce.open(root.resolve()))  # a link may turn meanwhile
    check_servable(folder)
    material = Material.of(folder, config.ids, config.map)
    searcher = Searcher(folder, accounting="file", charged=material.accounting())
    course = Course.of(searcher)
    split, users = folder.split(), folder.table().users
    written = catalogue(split.item_ids, split.titles, folder.model_id)
    folder.forget()
    _ = material.slots  # packed now, or the first bundle would take longer
    reserved = material.accounting().reserved_bytes
    least = max(course.least_bytes, -(-material.codes.n_items // 8) + reserved)
    return Served(
        name=name,
        version=version_of(folder, config),
        material=material,
        course=course,
        steps=Steps.of(config.steps, least, course.full_bytes),
        catalogue=written,
        user_ids=split.user_ids,
        users=users,
        loaded=time.time(),
    )
