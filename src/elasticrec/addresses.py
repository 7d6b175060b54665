"""Addresses such as `s3://bucket/key` of files on object stores, and what folders hold."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def is_address(path: Path | str) -> bool:
    """True of `s3://bucket/key`, `gs://…`, `file:///…` and the like; a Path is never one."""
    return isinstance(path, str) and "://" in path


@contextmanager
def reaching(address: str) -> Iterator[tuple[AbstractFileSystem, str]]:
    """The file system behind an address and the path in it; what it refuses ends in one line."""
    import fsspec

    try:
        yield fsspec.core.url_to_fs(address)
    except (InputError, ModuleNotFoundError):
        raise
    except FileNotFoundError:
        raise InputError(f"{address}: no such file") from None
    except Exception as error:  # each store has classes of its own for no key, bucket or right
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        raise InputError(f"{address}: cannot be reached ({reason})") from None


def files_at(source: Path | str) -> list[Path | str]:
    """The files of a folder or a pattern such as `logs/*.parquet`, by name; else the source alone.

    Hidden files and those that begin with `_`, as Spark and Hive write them, are no data.
    """
    found: list[str]
    if is_address(source):
        with reaching(str(source)) as (store, path):
            folder = store.isdir(path)
            if not folder and not glob.has_magic(path):
                return [source]
            within = store.find(path) if folder else store.glob(path)
            base = path if folder else ""
            found = [store.unstrip_protocol(each) for each in within if _is_data(each, base)]
    else:
        pattern = os.fspath(source)
        if os.path.isdir(pattern):
            within = glob.glob("**", root_dir=pattern, recursive=True)
            found = [os.path.join(pattern, each) for each in within if _is_data(each, "")]
        elif os.path.exists(pattern) or not glob.has_magic(pattern):
            return [source]
        else:
            found = glob.glob(pattern, recursive=True)
        found = [each for each in found if os.path.isfile(each)]
    if not found:
        raise InputError(f"{source}: there are no such files, expected tables")
    return sorted(found)


def _is_data(path: str, base: str) -> bool:
    """True where no part of the path below its folder begins with `.` or `_`."""
    return not any(part[:1] in (".", "_") for part in path.removeprefix(base).split("/"))


@contextmanager
def fetched(path: Path | str) -> Iterator[Path]:
    """The file or folder itself, or a copy of what an address names, which goes with the block.

    An error that names the copy names the address instead.
    """
    if not is_address(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        with reaching(str(path)) as (store, inner):
            copy = Path(folder, Path(inner).parent.name, Path(inner).name)  # both name data sets
            copy.parent.mkdir(exist_ok=True)
            if store.isdir(inner):
                copy.mkdir()
                for each in store.find(inner, maxdepth=1):
                    store.get_file(each, str(copy / Path(each).name))
            else:
                store.get_file(inner, str(copy))
        try:
            yield copy
        except InputError as error:
            raise InputError(str(error).replace(str(copy), str(path))) from None
