"""ModelFolder: a model on disk, its parts, and what each part was made from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from elasticrec.training.cooccurrence import Cooccurrence
from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.data.splitting import Split

FORMAT = 1
FILES = {
    "split": "split.npz",
    "table": "blocks.safetensors",
    "cooccurrence": "cooccurrence.npz",
    "groups": "groups.npz",
    "menu": "menu.npz",
    "codes": "codes.npz",
    "neighbours": "neighbours.npz",
    "mixing": "mixing.json",
    "estimator": "estimator.safetensors",
}
"""Parts and their files; the estimator's ledger and checkpoints lie beside them."""
MADE_FROM = {
    "table": ("split",),
    "cooccurrence": ("split",),
    "groups": ("split", "table"),
    "menu": ("table",),
    "codes": ("table", "groups", "menu"),
    "neighbours": ("split",),
    "mixing": ("split", "menu", "codes", "neighbours"),
}
"""What each part is made from: other inputs than those now in the folder make it stale."""
IDENTITY = ("table", "groups", "codes", "neighbours")
"""The parts whose fingerprints make the model id; the rotation is one of the codes' arrays."""


class Part(Protocol):
    """What a model folder keeps: it can be written as one file, and named by its content."""

    def save(self, path: Path | str) -> None:
        """Write one file, whole or not at all."""

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""


_Part = TypeVar("_Part", bound=Part)


class ModelFolder:
    """A folder with `model.json`: format, model id, parts, their hashes and their sources."""

    def __init__(self, root: Path, content: dict[str, Any]) -> None:
        self.root = root
        self._content = content

    @classmethod
    def create(cls, root: Path | str) -> ModelFolder:
        """A new model folder; one that is there already is opened, anything else is refused."""
        root = Path(root)
        if (root / "model.json").exists():
            return cls.open(root)
        if root.exists() and (not root.is_dir() or any(_visible(root))):
            raise InputError(
                f"{root} exists and is not a model folder; expected a new or empty one"
            )
        root.mkdir(parents=True, exist_ok=True)
        return cls(root, {"format": FORMAT, "parts": {}})

    @classmethod
    def open(cls, root: Path | str) -> ModelFolder:
        """The model folder that `record` wrote."""
        root = Path(root)
        file = root / "model.json"
        if not file.exists():
            raise InputError(f"{root} is not a model folder: it has no model.json")
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{file} is not JSON: {error}") from error
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise InputError(f"{file} has format {found!r}; this version reads format {FORMAT}")
        return cls(root, content)

    @property
    def model_id(self) -> str:
        """Hex sha256 over the fingerprints of table, groups, codes and neighbours."""
        parts = self._content["parts"]
        named = [f"{name}:{parts[name]['fingerprint']}" for name in IDENTITY if name in parts]
        return hashlib.sha256("|".join(named).encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """What `describe` kept: settings, seconds, the date of the training."""
        return dict(self._content.get("about", {}))

    def path(self, part: str) -> Path:
        """Where a part's file lies."""
        return self.root / FILES[part]

    def has(self, part: str) -> bool:
        """Whether the part was recorded."""
        return part in self._content["parts"]

    def fingerprint(self, part: str) -> str:
        """The recorded hash of a part."""
        if not self.has(part):
            raise InputError(f"{self.root} has no {part}; expected {FILES.get(part, part)}")
        return str(self._content["parts"][part]["fingerprint"])

    def record(self, part: str, fingerprint: str, made_from: tuple[str, ...] = ()) -> None:
        """Enter a part just written, with the present hashes of the parts it was made from."""
        sources = {name: self.fingerprint(name) for name in made_from}
        self._content["parts"][part] = {
            "file": FILES[part],
            "fingerprint": fingerprint,
            "made_from": sources,
        }
        self._write()

    def describe(self, **about: Any) -> None:
        """Keep some facts about the model in `model.json`."""
        self._content["about"] = {**self.about, **about}
        self._write()

    def check(self, part: str) -> None:
        """Refuse a part that was made from other inputs than those now in the folder."""
        self.fingerprint(part)
        for source, wanted in self._content["parts"][part]["made_from"].items():
            if not self.has(source) or self.fingerprint(source) != wanted:
                raise InputError(
                    f"{self.path(part)} was made from another {source} than the one in "
                    f"{self.root}; make the {part} again"
                )

    def split(self) -> Split:
        """The split the model was trained on."""
        return self.load_part("split", Split.load)

    def table(self) -> BlockTable:
        """The trained table."""
        return self.load_part("table", BlockTable.load)

    def cooccurrence(self) -> Cooccurrence | None:
        """The co-occurrence lists, where the model has them."""
        if not self.has("cooccurrence"):
            return None
        return self.load_part("cooccurrence", Cooccurrence.load)

    def save_model(
        self, split: Split, table: BlockTable, cooccurrence: Cooccurrence | None = None
    ) -> None:
        """Write split, table and lists, and record them."""
        for name, part in (("split", split), ("table", table), ("cooccurrence", cooccurrence)):
            if part is not None:
                self.save_part(name, part)

    def save_part(self, name: str, part: Part) -> None:
        """Write a part to its file and record it as made from what `MADE_FROM` says."""
        sources = MADE_FROM.get(name, ())
        for source in sources:
            self.fingerprint(source)  # refused before anything is written
        part.save(self.path(name))
        self.record(name, part.fingerprint(), sources)

    def load_part(self, name: str, load: Callable[[Path], _Part]) -> _Part:
        """A part read by `load`; one that is missing, stale or not the recorded one is refused."""
        self.check(name)
        if not self.path(name).exists():
            raise InputError(f"{self.path(name)} is missing; model.json says the model has it")
        loaded = load(self.path(name))
        if loaded.fingerprint() != self.fingerprint(name):
            raise InputError(f"{self.path(name)} is not the {name} that model.json was written for")
        return loaded

    def _write(self) -> None:
        content = {**self._content, "model_id": self.model_id}
        partial = self.root / "model.json.part"
        partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(partial, self.root / "model.json")


def _visible(root: Path) -> list[Path]:
    """The folder's entries, a checkpoint and hidden files aside."""
    entries = root.iterdir()
    return [e for e in entries if not e.name.startswith((".", "checkpoint."))]
