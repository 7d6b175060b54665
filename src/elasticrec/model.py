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
from elasticrec.files import save_bytes, sha256_of
from elasticrec.model_folder import NAME, made_folder, new_content, place, plain, read_content
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
        self._intact: dict[str, tuple[object, ...]] = {}

    def __repr__(self) -> str:
        return f"Model({str(self.root)!r}, {', '.join(self.content['parts']) or 'empty'})"

    @classmethod
    def create(cls, root: Path | str) -> Model:
        """The model of a new or empty folder, or of one that is being made."""
        root = made_folder(Path(root))
        if not place(root, NAME).exists():
            cls(root, new_content())._write()
        return cls.open(root)

    @classmethod
    def open(cls, root: Path | str) -> Model:
        """The model in a folder."""
        return cls(Path(root), read_content(Path(root)))

    @property
    def is_finished(self) -> bool:
        """True if its stream was measured, and each part is made from parts that are there."""
        tiled = self.has("table") and self.content["parts"]["table"]["config"].get("score")
        return self._is_made("table" if tiled == "tiled" else "curve")

    def _is_made(self, part: str) -> bool:
        sources = self.content["parts"]
        return self._is_current(part) and all(map(self._is_made, sources[part]["made_from"]))

    def _is_current(self, part: str) -> bool:
        """True if a part was recorded, made from the parts that are in the folder now."""
        parts = self.content["parts"]
        sources = parts[part]["made_from"] if part in parts else {}
        return part in parts and all(n in parts and self.hash_of(n) == sources[n] for n in sources)

    def clear(self) -> None:
        """Forget everything, to begin with other data; sequence numbers go on."""
        sequence = self.about.get("sequence", 0)
        self.__dict__ = Model(self.root, new_content()).__dict__
        self.describe(sequence=sequence)

    @property
    def id(self) -> str:
        """Hex sha256 over the hashes of codes and neighbours."""
        named = "|".join(f"{name}:{self.hash_of(name)}" for name in IDENTITY)
        return hashlib.sha256(named.encode()).hexdigest()

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
            made = "`elasticrec fit` makes it"
            raise InputError(f"{self.root}: has no {part} yet ({FILES[part]}); {made}")
        return str(self.content["parts"][part]["sha256"])

    def fresh(self, part: str, config: dict[str, Any]) -> bool:
        """True if a part is there, with these settings, made from the parts in the folder now.

        It is relied upon then, with what it was made from: a damaged file is refused by name.
        """
        entry = self.content["parts"].get(part)
        same = self._is_current(part) and self.path(part).exists()
        if not same or entry["config"] != plain(config):
            return False
        for name in {part, *entry["made_from"]} - {"card"}:  # people may edit a card
            self._check_file(name)
        return True

    def save_part(
        self,
        part: str,
        value: Part | Callable[[Path], None],
        *,
        made_from: tuple[str, ...] = (),
        config: dict[str, Any] | None = None,
        **about: Any,
    ) -> None:
        """Write a part by its `save`, or by such a function; record its hash, settings and sources.

        The old record goes before the file changes: one that is cut off here leaves no false hash.
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
        self._check_file(part)
        entry = self.content["parts"][part]
        entry["made_from"] = {name: self.hash_of(name) for name in made_from}
        self._write()

    def check(self, part: str) -> Path:
        """The path of a part, after its file was found to be the recorded one."""
        path = self._check_file(part)
        for name, made_from in self.content["parts"][part]["made_from"].items():
            if self.has(name) and self.hash_of(name) != made_from:
                other = f"another {name} than the one in {self.root}"
                raise InputError(f"{path}: was made from {other}; `elasticrec fit` makes it anew")
        return path

    def _check_file(self, part: str) -> Path:
        """The path of a part whose file has the recorded hash; an unchanged one is read once."""
        path, wanted = self.path(part), self.hash_of(part)
        try:
            found = path.stat()
            state = (wanted, found.st_ino, found.st_mtime_ns, found.st_size)
            if self._intact.get(part) != state and sha256_of(path) != wanted:
                raise InputError(f"{path}: is damaged or was swapped, its hash is not model.json's")
        except FileNotFoundError:
            raise InputError(f"{path}: is missing, `elasticrec fit` makes it anew") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        self._intact[part] = state
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
        return dict(json.loads(self.check("curve").read_text(encoding="utf-8")))

    @property
    def stream_path(self) -> Path:
        """The file of the stream."""
        return self.check("stream")

    def server_vectors(self) -> np.ndarray | None:
        """(U, D) the users' unit vectors, rotated as the codes are; None for `history`."""
        users = self.table.users
        return None if users is None else np.asarray(unit(users @ self.codes.rotation), np.float32)

    def _write(self) -> None:
        made = all(self.has(name) for name in IDENTITY)
        content = {**self.content, "id": self.id} if made else self.content
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        save_bytes(self.root / NAME, text.encode())
