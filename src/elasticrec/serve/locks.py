"""Locks that processes of one host share, and files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PARTIAL = ".part"
"""How the names of unfinished files end."""
LOCKS = 64
"""Lock files on a shelf: keys share them, so that they need never be removed."""


class Locks:
    """Locks by name in a folder; they end with the process that holds them, however it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    @contextmanager
    def held(self, key: str) -> Iterator[None]:
        """Nobody else on this host holds the same key meanwhile, be it a thread or a process."""
        number = zlib.crc32(key.encode()) % LOCKS
        with self._locked(f"{number:02}.lock"):
            yield

    @contextmanager
    def all_files(self) -> Iterator[None]:
        """Nobody else on this host moves or removes files of the shelf meanwhile."""
        with self._locked("files.lock"):
            yield

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        handle = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)  # which unlocks


@contextmanager
def partial_file(path: Path, content: bytes) -> Iterator[Path]:
    """A finished file beside `path`, safe on disk, to be renamed; what is left of it is removed."""
    while True:
        partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX)  # tells `remove_partial` that its writer lives
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # a cleaner came between
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(handle)
        yield partial
    finally:
        partial.unlink(missing_ok=True)
        os.close(handle)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all, also where the machine fails meanwhile."""
    with partial_file(path, content) as partial:
        os.replace(partial, path)
    settle(path.parent)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a small JSON file, whole or not at all."""
    write_whole(path, json.dumps(content, separators=(",", ":")).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a small JSON file; None where there is no sound one."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def settle(folder: Path) -> None:
    """Make renames in a folder last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_partial(folder: Path) -> int:
    """How many unfinished files were removed: those whose writers live no more."""
    removed = 0
    for path in folder.glob(f".*{PARTIAL}"):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
            removed += 1
        except BlockingIOError:
            pass  # its writer lives
        finally:
            os.close(handle)
    return removed
