"""Model: a folder with `model.json` and its parts. There is no other loaded model."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from elasticrec.errors import InputError
from elasticrec.files import sha256_of
from elasticrec.model_json import new_content, plain, read_content, write_content

if TYPE_CHECKING:
    from elasticrec.compression.codes import Codes
    from elasticrec.compression.neighbours import Neighbours
    from elasticrec.data.split import Split
    from elasticrec.ordering.order import Order
    from elasticrec.training.table import BlockTable

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
        self.root, self._content = root, content

    @classmethod
    def create(cls, root: Path | str) -> Model:
        """The model of a new or empty folder, or of one that is being made."""
        root = Path(root)
        if (root / "model.json").exists():
            return cls.open(root)
        if root.exists() and not root.is_dir():
            raise InputError(f"{root}: is a file, expected a folder for the model")
        if root.exists() and any(not e.name.startswith(".") for e in root.iterdir()):
            raise InputError(f"{root}: holds other files, expected a new or empty folder")
        root.mkdir(parents=True, exist_ok=True)
        model = cls(root, new_content())
        model._write()
        return model

    @classmethod
    def open(cls, root: Path | str) -> Model:
        """The model in a folder."""
        return cls(Path(root), read_content(Path(root)))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock; a second writer is refused."""
        with (self.root / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.root}: another elasticrec is writing this model; wait for it to end"
                ) from None
            yield

    @property
    def id(self) -> str:
        """Hex sha256 over the hashes of codes and neighbours."""
        named = [f"{name}:{self.hash_of(name)}" for name in IDENTITY]
        return hashlib.sha256("|".join(named).encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """Facts kept beside the parts: settings, seconds, choices, the date of the training."""
        return dict(self._content["about"])

    def describe(self, **about: Any) -> None:
        """Keep some facts about the model in `model.json`."""
        self._content["about"] = {**self._content["about"], **about}
        self._write()

    def path(self, part: str) -> Path:
        """The file of a part."""
        return self.root / FILES[part]

    def has(self, part: str) -> bool:
        """True if a part was recorded."""
        return part in self._content["parts"]

    def hash_of(self, part: str) -> str:
        """The recorded sha256 of a part's file."""
        if not self.has(part):
            raise InputError(
                f"{self.root}: has no {part} yet ({FILES[part]}); `elasticrec fit` makes it"
            )
        return str(self._content["parts"][part]["sha256"])

    def fresh(self, part: str, config: dict[str, Any]) -> bool:
        """True if a part is there, with these settings, made from the parts in the folder now."""
        if not self.has(part) or not self.path(part).exists():
            return False
        entry = self._content["parts"][part]
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
    ) -> None:
        """Write a part and record its hash, its settings and what it was made from.

        The old record goes before the file changes: one that is cut off here leaves no false hash.

        Args:
            value: has `save(path)`, or is such a function.
        """
        sources = {name: self.hash_of(name) for name in made_from}
        save = value if callable(value) else value.save
        if self._content["parts"].pop(part, None) is not None:
            self._write()
        save(self.path(part))
        self._content["parts"][part] = {
            "file": FILES[part],
            "sha256": sha256_of(self.path(part)),
            "made_from": sources,
            "config": plain(config or {}),
        }
        self._write()
        self.__dict__.pop(part, None)  # a loaded part of before

    def check(self, part: str) -> Path:
        """The path of a part, after its file was found to be the recorded one."""
        path, wanted = self.path(part), self.hash_of(part)
        if not path.exists():
            raise InputError(f"{path}: is missing, model.json says that the model has it")
        if sha256_of(path) != wanted:
            raise InputError(f"{path}: is damaged or was swapped, its hash is not model.json's")
        for name, made_from in self._content["parts"][part]["made_from"].items():
            if self.has(name) and self.hash_of(name) != made_from:
                raise InputError(
                    f"{path}: was made from another {name} than the one in {self.root}; "
                    "`elasticrec fit` makes it anew"
                )
        return path

    @cached_property
    def split(self) -> Split:
        """Who took what; items are numbered by falling popularity in train."""
        from elasticrec.data.split import Split

        return Split.load(self.check("split"))

    @cached_property
    def table(self) -> BlockTable:
        """The trained vectors."""
        from elasticrec.training.table import BlockTable

        return BlockTable.load(self.check("table"))

    @cached_property
    def codes(self) -> Codes:
        """The items as byte columns."""
        from elasticrec.compression.codes import Codes

        return Codes.load(self.check("codes"))

    @cached_property
    def neighbours(self) -> Neighbours:
        """The neighbour lists."""
        from elasticrec.compression.neighbours import Neighbours

        return Neighbours.load(self.check("neighbours"))

    @cached_property
    def weights(self) -> np.ndarray:
        """(C + 1, 2) vote weights of items with 0 … C columns, by kind of person."""
        with np.load(self.check("weights"), allow_pickle=False) as stored:
            return np.asarray(stored["weights"])

    @cached_property
    def order(self) -> Order:
        """The order of the stream."""
        from elasticrec.ordering.order import Order

        return Order.load(self.check("order"))

    @cached_property
    def curve(self) -> dict[str, Any]:
        """Measured quality by size, and on whom it was measured."""
        found: dict[str, Any] = json.loads(self.check("curve").read_text(encoding="utf-8"))
        return found

    @property
    def stream_path(self) -> Path:
        """The stream; a missing one is refused."""
        if not self.has("stream") or not self.path("stream").exists():
            self.hash_of("stream")
            raise InputError(f"{self.path('stream')}: is missing, `elasticrec fit` makes it anew")
        return self.path("stream")

    @property
    def catalogue_path(self) -> Path:
        """The catalogue: ids and titles by item number."""
        return self.path("catalogue")

    def server_vectors(self) -> np.ndarray | None:
        """(U, D) the users' unit vectors, rotated as the codes are; None for `history`."""
        users = self.table.users
        if users is None:
            return None
        rotated = users @ self.codes.rotation
        lengths = np.linalg.norm(rotated, axis=1, keepdims=True)
        return np.asarray(rotated / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _write(self) -> None:
        made = all(self.has(name) for name in IDENTITY)
        write_content(self.root, {**self._content, "id": self.id} if made else self._content)
