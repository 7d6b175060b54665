"""A folder here that follows the model folders at an address such as `s3://bucket/models`."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.addresses import reaching
from elasticrec.model_folder import NAME

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

COPIES = 2
"""Copies of a model that stay: the present one, and the one before, which may still be read."""


class Mirror:
    """Links by the names of models, each to a whole copy; a link turns once a copy is whole."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self.folder = Path(tempfile.mkdtemp(prefix="elasticrec-"))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        """Removes the folder."""
        self._seen: dict[str, list[Any]] = {}

    def models(self) -> dict[str, str]:
        """The model folders at the address, or just below it, by name."""
        with reaching(self.address) as (store, base):
            store.invalidate_cache()
            own = f"{base}/{NAME}"
            found = [own] if store.exists(own) else store.glob(f"{base}/*/{NAME}")
            return {Path(path).parent.name: path.removesuffix(f"/{NAME}") for path in found}

    def look(self) -> None:
        """Copy what is new and forget what is gone; nothing changes where the store is away."""
        models = self.models()
        with reaching(self.address) as (store, _):
            for name, root in models.items():
                self._renew(store, name, root)
        for name in self._seen.keys() - models.keys():
            (self.folder / name).unlink()
            del self._seen[name]

    def _renew(self, store: AbstractFileSystem, name: str, root: str) -> None:
        """Copy a model whose files are others than before, and let its link lead to the copy."""
        files = sorted(store.find(root, maxdepth=1, detail=True).items())
        state = [
            (path, each["size"], str(each.get("ETag", each.get("mtime")))) for path, each in files
        ]
        if self._seen.get(name) == state:
            return
        copy = Path(tempfile.mkdtemp(dir=self.folder, prefix=f".{name}-"))
        for path, _ in files:
            store.get_file(path, str(copy / Path(path).name))
        link = copy.with_name(f"{copy.name}.link")
        link.symlink_to(copy)
        os.replace(link, self.folder / name)
        self._seen[name] = state
        copies = sorted(self.folder.glob(f".{name}-*"), key=lambda each: each.stat().st_ctime_ns)
        for old in copies[:-COPIES]:
            shutil.rmtree(old, ignore_errors=True)
