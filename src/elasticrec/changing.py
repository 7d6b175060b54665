"""Changing a model: one writer at a time, and a finished model is replaced at once.

A finished model is never changed: the next one is built beside it, in `.next`. When that is
finished, renaming the folder to `.ready` makes it the model. Its files then move to their places;
until they have, readers find them in `.ready`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elasticrec.errors import InputError
from elasticrec.files import writing
from elasticrec.model import FILES, Model
from elasticrec.model_folder import NAME, READY, made_folder, read_content

NEXT = ".next"
"""The folder of the model that is to replace a finished one."""


@contextmanager
def changed(root: Path | str) -> Iterator[Model]:
    """The model of a folder, to be made or changed; a second writer is refused.

    Of a finished one the block changes the next; what it leaves unfinished the next call takes up.
    """
    root = made_folder(Path(root))
    with locked(root):
        present = Model.create(root)
        if not present.is_finished:
            yield present
            return
        model = Model.open(begin_next(root, [FILES[part] for part in present.content["parts"]]))
        try:
            yield model
        except InputError as error:
            if model.content != present.content:
                raise
            _give_up_next(root)  # its files are those of the model, and are called so
            raise InputError(str(error).replace(f"{root / NEXT}/", f"{root}/")) from None
        if model.content == present.content:
            _give_up_next(root)
        elif model.is_finished:
            switch(root)
        else:
            return
        model.root = root


@contextmanager
def extended(root: Path | str) -> Iterator[Model]:
    """The model of a folder, to be given further parts; a second writer is refused."""
    Model.open(root)
    with locked(Path(root)):
        yield Model.open(root)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the one lock of a folder; a second writer is refused."""
    with writing(root):
        file = (root / ".lock").open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{root}: another elasticrec is writing this model; wait for it to end"
            ) from None
        with writing(root):
            tidy(root)
        yield


def begin_next(root: Path, names: Iterable[str]) -> Path:
    """The folder of the next model, with these files of the present one unless it was begun."""
    following = root / NEXT
    if not (following / NAME).exists():
        with writing(following):
            shutil.rmtree(following, ignore_errors=True)
            following.mkdir()
            for name in (*names, NAME):  # the last one says that all are there
                with suppress(FileNotFoundError):
                    _link(root / name, following / name)
    return following


def _give_up_next(root: Path) -> None:
    with writing(root / NEXT):
        (root / NEXT / NAME).unlink()  # first: without it, what is left is no model
        shutil.rmtree(root / NEXT)


def _link(source: Path, target: Path) -> None:
    """Give a file a second name: files are replaced and never changed, so no copy is needed."""
    try:
        os.link(source, target)
    except PermissionError:  # a file system without links
        shutil.copyfile(source, target)


def switch(root: Path) -> None:
    """Put the next model, which is finished, in the place of the present one."""
    with writing(root):
        for path in (root / NEXT).iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())  # or a power failure could leave names without content
        os.rename(root / NEXT, root / READY)
        tidy(root)


def tidy(root: Path) -> None:
    """Finish the switch of a writer that was killed, and remove the files that it had begun."""
    for name in (*FILES.values(), NAME):
        for begun in (*root.glob(f"{name}.*.part"), *root.glob(f"{NEXT}/{name}.*.part")):
            begun.unlink()
    ready = root / READY
    if (ready / NAME).exists():
        parts = read_content(root)["parts"]
        for name in (FILES[part] for part in FILES if part not in parts):
            (root / name).unlink(missing_ok=True)
            (ready / name).unlink(missing_ok=True)
    if ready.exists():
        for path in sorted(ready.iterdir(), key=lambda each: each.name == NAME):  # it comes last
            os.replace(path, root / path.name)
            path.unlink(missing_ok=True)  # two names of one file stay two
        ready.rmdir()
