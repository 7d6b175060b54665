"""Model: a folder with `model.json` and its parts. There is no other loaded model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.files import sha256_of
from elasticrec.model_folder import (
    NAME,
    made_folder,
    new_content,
    place,
    plain,
    read_content,
    write_content,
)
from elasticrec.ordering.order import Order
from elasticrec.training.table import BlockTable, unit

FILES = {
    "split": "split.npz",
    "table": "table.safetensors",
    "codes": "codes.npz",
    "neighbours": "neighbours.npz",
    "weights": "weights.npz",
    "order": "order.npz",
    "stream": "stream.elastic",
    "catalogue": "catalogue.json",
    "curve": "curve.json",
    "card": "README.md",
    "samples": "samples.npz",
    "estimator": "estimator.safetensors",
}
"""Parts and their files."""
IDENTITY = ("codes", "neighbours")
"""Parts whose hashes make the model id: a stream and a person's vector fit by it."""


class Part(Protocol):
    """A part of a model that is written as one file."""

    def save(self, path: Path | str) -> None:
        """Write one file, whole or not at all."""


class Model:
    """A model on disk; parts are loaded when first asked for, and checked against their hashes."""

    def __init__(self, root: Path, content: dict[str, Any]) -> None:
        self.root = root
        self.content = content
        """The content of `model.json`."""

    def __repr__(self) -> str:
        return f"Model({str(self.root)!r}, {', '.join(self.content['parts']) or 'empty'})"

    @classmethod
    def create(cls, root: Path | str) -> Model:
        """The model of a new or empty folder, or of one that is being made."""
        root = made_folder(Path(root))
        if place(root, NAME).exists():
            return cls.open(root)
        model = cls(root, new_content())
        model._write()
        return model

    @classmethod
    def open(cls, root: Path | str) -> Model:
        """The model in a folder."""
        return cls(Path(root), read_content(Path(root)))

    @property
    def is_finished(self) -> bool:
        """True if its stream was measured, and each part is made from parts that are there."""
        tiled = self.has("table") and self.content["parts"]["table"]["config"].get("score")
        return self._is_sound("table" if tiled == "tiled" else "curve")

    def _is_sound(self, part: str) -> bool:
        sources = self.content["parts"][part]["made_from"] if self.has(part) else {}
        return self.has(part) and all(
            self._is_sound(n) and self.hash_of(n) == sources[n] for n in sources
        )

    def clear(self) -> None:
        """Forget everything, to begin with other data; sequence numbers go on."""
        sequence = self.about.get("sequence", 0)
        self.__dict__ = {"root": self.root, "content": new_content()}
        self.describe(sequence=sequence)

    @property
    def id(self) -> str:
        """Hex sha256 over the hashes of codes and neighbours."""
        named = [f"{name}:{self.hash_of(name)}" for name in IDENTITY]
        return hashlib.sha256("|".join(named).encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """Facts kept beside the parts: settings, seconds, choices, the date of the training."""
        return dict(self.content["about"])

    def describe(self, **about: Any) -> None:
        """Keep some facts about the model in `model.json`."""
        self.content["about"] = {**self.content["about"], **about}
        self._write()

    def path(self, part: str) -> Path:
        """The file of a part."""
        return place(self.root, FILES[part])

    def has(self, part: str) -> bool:
        """True if a part was recorded."""
        return part in self.content["parts"]

    def hash_of(self, part: str) -> str:
        """The recorded sha256 of a part's file."""
        if not self.has(part):
            raise InputError(
                f"{self.root}: has no {part} yet ({FILES[part]}); `elasticrec fit` makes it"
            )
        return str(self.content["parts"][part]["sha256"])

    def fresh(self, part: str, config: dict[str, Any]) -> bool:
        """True if a part is there, with these settings, made from the parts in the folder now."""
        if not self.has(part) or not self.path(part).exists():
            return False
        entry = self.content["parts"][part]
        sources = entry["made_from"]
        same = all(self.has(name) and self.hash_of(name) == sources[name] for name in sources)
        return same and bool(entry["config"] == plain(config))

    def save_part(
        self,
        part: str,
        value: Part | Callable[[Path], None],
        *,
        made_from: tuple[str, ...] = (),
        config: dict[str, Any] | None = None,
        **about: Any,
    ) -> None:
        """Write a part and record its hash, its settings, what it was made from, and facts.

        The old record goes before the file changes: one that is cut off here leaves no false hash.

        Args:
            value: has `save(path)`, or is such a function.
        """
        sources = {name: self.hash_of(name) for name in made_from}
        save = value if callable(value) else value.save
        if self.content["parts"].pop(part, None) is not None:
            self._write()
        self.path(part).unlink(missing_ok=True)  # the model before may have the same file
        save(self.path(part))
        self.content["parts"][part] = {
            "file": FILES[part],
            "sha256": sha256_of(self.path(part)),
            "made_from": sources,
            "config": plain(config or {}),
        }
        self.describe(**about)
        self.__dict__.pop(part, None)  # a loaded part of before

    def keep_part(self, part: str, *, made_from: tuple[str, ...]) -> None:
        """Record a part, as it is, as made from the parts that are in the folder now."""
        if sha256_of(self.path(part)) != self.hash_of(part):
            raise InputError(f"{self.path(part)}: is damaged, its hash is not model.json's")
        entry = self.content["parts"][part]
        entry["made_from"] = {name: self.hash_of(name) for name in made_from}
        self._write()

    def check(self, part: str) -> Path:
        """The path of a part, after its file was found to be the recorded one."""
        path, wanted = self.path(part), self.hash_of(part)
        try:
            found = sha256_of(path)
        except FileNotFoundError:
            raise InputError(f"{path}: is missing, `elasticrec fit` makes it anew") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        if found != wanted:
            raise InputError(f"{path}: is damaged or was swapped, its hash is not model.json's")
        for name, made_from in self.content["parts"][part]["made_from"].items():
            if self.has(name) and self.hash_of(name) != made_from:
                raise InputError(
                    f"{path}: was made from another {name} than the one in {self.root}; "
                    "`elasticrec fit` makes it anew"
                )
        return path

    @cached_property
    def split(self) -> Split:
        """Who took what; items are numbered by falling popularity in train."""
        return Split.load(self.check("split"))

    @cached_property
    def table(self) -> BlockTable:
        """The trained vectors."""
        return BlockTable.load(self.check("table"))

    @cached_property
    def codes(self) -> Codes:
        """The items as byte columns."""
        return Codes.load(self.check("codes"))

    @cached_property
    def neighbours(self) -> Neighbours:
        """The neighbour lists."""
        return Neighbours.load(self.check("neighbours"))

    @cached_property
    def weights(self) -> np.ndarray:
        """(C + 1, 2) vote weights of items with 0 … C columns, by kind of person."""
        with np.load(self.check("weights"), allow_pickle=False) as stored:
            return np.asarray(stored["weights"])

    @cached_property
    def order(self) -> Order:
        """The order of the stream."""
        return Order.load(self.check("order"))

    @cached_property
    def curve(self) -> dict[str, Any]:
        """Measured quality by size, and on whom it was measured."""
        found: dict[str, Any] = json.loads(self.check("curve").read_text(encoding="utf-8"))
        return found

    @property
    def stream_path(self) -> Path:
        """The file of the stream."""
        return self.check("stream")

    def server_vectors(self) -> np.ndarray | None:
        """(U, D) the users' unit vectors, rotated as the codes are; None for `history`."""
        users = self.table.users
        if users is None:
            return None
        return np.asarray(unit(users @ self.codes.rotation), dtype=np.float32)

    def _write(self) -> None:
        made = all(self.has(name) for name in IDENTITY)
        write_content(self.root, {**self.content, "id": self.id} if made else self.content)
