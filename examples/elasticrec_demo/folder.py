"""DemoFolder: where a demo keeps what it made, and takes it up again."""

from __future__ import annotations

import shutil
from pathlib import Path

from elasticrec.errors import InputError

MARK = ".elasticrec-demo"
"""A file that says whose folder it is: no other folder is ever written into or cleared."""


class DemoFolder:
    """A folder with the split, the model, compositions, bundles, the story and the report."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.split = root / "split.npz"
        self.model = root / "model"
        self.compositions = root / "compositions"
        self.bundles = root / "bundles"
        self.story = root / "story.json"
        self.report = root / "report.html"

    @classmethod
    def create(cls, root: Path | str) -> DemoFolder:
        """The demo's folder at a path, made if it is missing; any other folder is refused."""
        root = Path(root)
        if root.exists() and not root.is_dir():
            raise InputError(f"{root} is a file, expected a folder for the demo's output")
        if root.is_dir() and any(root.iterdir()) and not (root / MARK).exists():
            raise InputError(
                f"{root} holds other things; expected a new or empty folder, or an earlier demo's"
            )
        root.mkdir(parents=True, exist_ok=True)
        if not (root / MARK).exists():
            (root / MARK).touch()
        return cls(root)

    def clear(self) -> None:
        """Remove all that a demo makes, and nothing else."""
        for folder in (self.model, self.compositions, self.bundles):
            if folder.exists():
                shutil.rmtree(folder)
        for file in (self.split, self.story, self.report):
            file.unlink(missing_ok=True)

    def clear_model(self, *, keep: Path) -> None:
        """Remove the model and what was made from it, but one file in the model's folder."""
        for file in self.model.iterdir() if self.model.is_dir() else ():
            if file != keep:
                file.unlink()
