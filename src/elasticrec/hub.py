"""Model folders in a hub folder, laid out as Hugging Face's tools keep models.

A model is `models--OWNER--NAME` there: `blobs/` holds files by their SHA-256, a folder in
`snapshots/` is one version, whose files are links to blobs, and `refs/main` names the newest.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

from elasticrec.changing import NEXT, locked, switch
from elasticrec.errors import InputError
from elasticrec.files import save_bytes, sha256_of, writing, written_whole
from elasticrec.model import FILES, Model
from elasticrec.model_folder import NAME, made_folder, place

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def default_hub() -> Path:
    """The hub folder of this machine, where Hugging Face's tools look, too."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")


def push(root: Path | str, repository: str, hub: Path | None = None) -> str:
    """Put a finished model into a hub folder (by default this machine's); its new version.

    Earlier versions stay, and files that two versions share are there once.
    """
    base = _base(repository, hub)
    model = Model.open(root)
    if not model.is_finished:
        raise InputError(f"{root}: is not finished, expected what `elasticrec fit` finished")
    files = {FILES[part]: model.check(part) for part in model.content["parts"]}
    files[NAME] = place(model.root, NAME)
    hashes = {FILES[part]: model.hash_of(part) for part in model.content["parts"]}
    hashes[NAME] = sha256_of(files[NAME])
    version = hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()[:40]
    snapshot = base / "snapshots" / version
    with writing(base):
        for folder in (base / "blobs", base / "refs", snapshot):
            folder.mkdir(parents=True, exist_ok=True)
        for name, path in files.items():
            blob, link = base / "blobs" / hashes[name], snapshot / name
            if not blob.exists():
                with path.open("rb") as source, written_whole(blob) as target:
                    shutil.copyfileobj(source, target)
            link.unlink(missing_ok=True)
            link.symlink_to(Path("../../blobs") / hashes[name])
    save_bytes(base / "refs" / "main", version.encode())  # last: the version is whole by now
    return version


def pull(
    repository: str, folder: Path | str, hub: Path | None = None, *, version: str = "main"
) -> Model:
    """A version (a ref, or what `push` returned) of a hub's model, in a new or empty folder."""
    base, folder = _base(repository, hub), Path(folder)
    snapshot = base / "snapshots" / _version(base, repository, version)
    source = Model.open(snapshot)
    parts = [source.check(part) for part in source.content["parts"]]
    with locked(made_folder(folder)):  # which finishes a pull that was cut off at its end
        if (folder / NAME).exists():
            raise InputError(f"{folder}: holds a model already, expected a new or empty folder")
        with writing(folder):
            shutil.rmtree(folder / NEXT, ignore_errors=True)
            (folder / NEXT).mkdir()
            for path in (*parts, snapshot / NAME):
                shutil.copyfile(path, folder / NEXT / path.name)
        switch(folder)
    return Model.open(folder)


def _version(base: Path, repository: str, version: str) -> str:
    """The snapshot that a ref names, or that is named itself."""
    known = {path.name: path.name for path in (base / "snapshots").glob("*")}
    for path in (base / "refs").glob("*"):
        known[path.name] = path.read_text(encoding="utf-8", errors="replace").strip()
    if known.get(version) not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise InputError(f"{base}: has no version {version!r} of {repository}, it has {listed}")
    return known[version]


def _base(repository: str, hub: Path | None) -> Path:
    """The folder of a repository in a hub folder."""
    if not _REPOSITORY.fullmatch(repository) or re.search(r"--|\.\.", repository):
        raise InputError(f"{repository!r} is no name in a hub, expected owner/name")
    return (hub or default_hub()) / f"models--{repository.replace('/', '--')}"
