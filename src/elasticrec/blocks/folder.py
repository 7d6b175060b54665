"""ModelFolder: a model on disk, its parts, and what each part was made from."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, TypeVar

from elasticrec.blocks.cooccurrence import Cooccurrence
from elasticrec.blocks.table import BlockTable
from elasticrec.data.errors import InputError
from elasticrec.data.splitting import Split

_Part = TypeVar("_Part", Split, BlockTable, Cooccurrence)
FORMAT = 1
FILES = {
    "split": "split.npz",
    "table": "blocks.safetensors",
    "cooccurrence": "cooccurrence.npz",
    "groups": "groups.npz",
    "estimator": "estimator.safetensors",
}
"""Parts and their files; the estimator's ledger and checkpoints lie beside them."""
IDENTITY = ("table", "groups", "rotation", "neighbours")
"""The parts whose fingerprints make the model id."""


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
        """Hex sha256 over the fingerprints of table, groups, rotation and neighbours."""
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
        return self._verified("split", Split.load(self._existing("split")))

    def table(self) -> BlockTable:
        """The trained table."""
        self.check("table")
        return self._verified("table", BlockTable.load(self._existing("table")))

    def cooccurrence(self) -> Cooccurrence | None:
        """The co-occurrence lists, where the model has them."""
        if not self.has("cooccurrence"):
            return None
        self.check("cooccurrence")
        return self._verified("cooccurrence", Cooccurrence.load(self._existing("cooccurrence")))

    def save_model(
        self, split: Split, table: BlockTable, cooccurrence: Cooccurrence | None = None
    ) -> None:
        """Write split, table and lists, and record them."""
        for name, part in (("split", split), ("table", table), ("cooccurrence", cooccurrence)):
            if part is not None:
                part.save(self.path(name))
                self.record(name, part.fingerprint(), () if name == "split" else ("split",))

    def _existing(self, part: str) -> Path:
        self.fingerprint(part)
        if not self.path(part).exists():
            raise InputError(f"{self.path(part)} is missing; model.json says the model has it")
        return self.path(part)

    def _verified(self, part: str, loaded: _Part) -> _Part:
        if loaded.fingerprint() != self.fingerprint(part):
            raise InputError(f"{self.path(part)} is not the {part} that model.json was written for")
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
