"""Store: finished files in one folder, bounded in bytes, whole at every moment.

Each file has a small JSON beside it that says its length, its hash and what it is. A file comes by
a rename after everything is safe on disk, so whatever kills a process leaves no half file behind;
its hash is checked all the same when a process first opens it. Being opened renews a file's date,
and the oldest dates leave first. A download goes on when its file leaves the shelf.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elasticrec.serve.kept import ABOUT, NAME, Kept, hash_of
from elasticrec.serve.locks import Locks, partial_file, remove_partial, settle
from elasticrec.serve.metrics import Metrics

log = logging.getLogger(__name__)


class Store:
    """The files of a shelf, which several processes may use at once."""

    def __init__(
        self,
        root: Path,
        limit_bytes: int,
        locks: Locks,
        metrics: Metrics,
        *,
        renew_seconds: float = 1.0,
    ) -> None:
        """A store in a folder, which is made where it is missing.

        Args:
            limit_bytes: of all files together; a larger single file may stay alone.
            renew_seconds: how often opening a file renews its date at most.
        """
        self.root = root
        self.limit_bytes = limit_bytes
        self._locks, self._metrics = locks, metrics
        self._renew_seconds = renew_seconds
        self._known: dict[str, Kept] = {}
        self._checked: dict[str, int] = {}  # name -> inode whose hash was found right
        self._renewed: dict[str, float] = {}
        root.mkdir(parents=True, exist_ok=True)

    def find(self, name: str) -> Kept | None:
        """A file on the shelf, whose date is renewed; None where there is none of that name."""
        if not NAME.fullmatch(name):
            return None
        kept = self._present(name)
        if kept is None and (self.root / name).exists():
            kept = self._judged(name)
        if kept is not None:
            self._renew(name)
        return kept

    def is_checked(self, name: str) -> bool:
        """Whether this process knows that the file's hash is right, so that opening is quick."""
        return name in self._checked

    def open(self, name: str) -> tuple[int, Kept] | None:
        """A handle to read a file by, and what it is; the caller closes it.

        The first time in a process this reads and hashes the file. None where there is none.
        """
        kept = self.find(name)
        if kept is None:
            return None
        try:
            handle = os.open(self.root / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        inode = os.fstat(handle).st_ino
        if self._checked.get(name) != inode:
            if hash_of(handle) != kept.sha256:
                os.close(handle)
                with self._locks.all_files():
                    self._discard(name, "another hash than it should have")
                return None
            self._checked[name] = inode
        return handle, kept

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None."""
        with self._opened(name) as opened:
            if opened is None:
                return None
            handle, kept = opened
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(kept.n_bytes)

    def put(self, kept: Kept, content: bytes) -> Kept:
        """The same, once the file lies on the shelf; what is too much then leaves."""
        name = kept.name
        if not NAME.fullmatch(name):
            raise ValueError(f"a file named {name!r} has no place on the shelf")
        path, beside = self.root / name, self.root / (name + ABOUT)
        with partial_file(path, content) as file, partial_file(beside, kept.to_json()) as note:
            with self._locks.all_files():
                os.replace(note, beside)
                os.replace(file, path)
                self._known[name] = kept
                self._checked[name] = os.stat(path).st_ino
                self._renewed[name] = time.monotonic()
                self._evict(keep=name)
            settle(self.root)
        return kept

    def usage(self) -> tuple[int, int]:
        """How many files there are, and the bytes of all of them with what stands beside."""
        listed = self._listed()
        return len(listed), sum(size for _, size, _ in listed)

    def clean(self) -> None:
        """Remove what processes left that were ended by force; files that live ones write stay."""
        removed = remove_partial(self.root)
        with self._locks.all_files():
            for path in self.root.iterdir():
                name = path.name.removesuffix(ABOUT)
                whole = (self.root / name).exists() and (self.root / (name + ABOUT)).exists()
                if NAME.fullmatch(name) and not whole:
                    path.unlink(missing_ok=True)
                    removed += 1
            self._evict(keep=None)
        if removed:
            log.info("removed unfinished files from the shelf", extra={"files": removed})

    def check_all(self) -> list[str]:
        """Names of damaged files, after they were removed: reads everything."""
        names = [name for _, _, name in self._listed()]
        damaged = []
        for name in names:
            self._checked.pop(name, None)
            with self._opened(name) as opened:
                if opened is None:
                    damaged.append(name)
        return damaged

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[int, Kept] | None]:
        opened = self.open(name)
        try:
            yield opened
        finally:
            if opened is not None:
                os.close(opened[0])

    def _present(self, name: str) -> Kept | None:
        """A file of the length that is said beside it."""
        try:
            n_bytes = os.stat(self.root / name).st_size
        except FileNotFoundError:
            self._forget(name)
            return None
        kept = self._known.get(name) or Kept.read(self.root, name)
        if kept is None or kept.n_bytes != n_bytes:
            return None
        self._known[name] = kept
        return kept

    def _judged(self, name: str) -> Kept | None:
        """A file that looked wrong, looked at while nobody moves any; a damaged one is removed."""
        with self._locks.all_files():
            self._forget(name)
            kept = self._present(name)
            if kept is None and (self.root / name).exists():
                self._discard(name, "another length than it should have")
            return kept

    def _renew(self, name: str) -> None:
        now = time.monotonic()
        if now - self._renewed.get(name, -1e9) >= self._renew_seconds:
            try:
                os.utime(self.root / name)
            except FileNotFoundError:
                return
            self._renewed[name] = now

    def _listed(self) -> list[tuple[int, int, str]]:
        """Date, bytes and name of every file, the oldest first."""
        found = []
        with os.scandir(self.root) as entries:
            for entry in entries:
                if NAME.fullmatch(entry.name):
                    try:
                        beside = os.stat(entry.path + ABOUT).st_size
                        about = entry.stat()
                    except FileNotFoundError:
                        continue
                    found.append((about.st_mtime_ns, about.st_size + beside, entry.name))
        return sorted(found)

    def _evict(self, keep: str | None) -> None:
        """Remove the files not opened for longest until the rest fits; the lock is held."""
        listed = self._listed()
        total = sum(size for _, size, _ in listed)
        for _, size, name in listed:
            if total <= self.limit_bytes:
                break
            if name != keep:
                self._remove(name)
                total -= size
                self._metrics.evictions.add()
                log.info("left the shelf", extra={"file": name, "bytes": size})

    def _remove(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        (self.root / (name + ABOUT)).unlink(missing_ok=True)
        self._forget(name)

    def _discard(self, name: str, found: str) -> None:
        """Remove a file that is not what it should be."""
        log.error("damaged file on the shelf", extra={"file": name, "found": found})
        self._metrics.damaged.add()
        self._remove(name)

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._checked.pop(name, None)
        self._renewed.pop(name, None)
