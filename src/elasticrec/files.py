"""Bytes of plain and gzip files, and files written whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_readable(path: Path | str) -> Path:
    """The path, after it was found to be a file with something in it that may be read."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            first = file.read(1)
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected one file") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if not first:
        raise InputError(f"{path}: is empty, expected interactions")
    return path


@contextmanager
def opened(path: Path | str) -> Iterator[IO[bytes]]:
    """A stream of the content, unpacked where the name ends in `.gz`; broken gzip is refused."""
    path = check_readable(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield cast("IO[bytes]", file)
    except EOFError:
        raise InputError(f"{path}: gzip file is cut off, expected a whole one") from None
    except gzip.BadGzipFile as error:
        raise InputError(f"{path}: named .gz but not a sound gzip file ({error})") from None
    except zlib.error as error:
        raise InputError(f"{path}: gzip file is damaged ({error})") from None


def read_bytes(path: Path | str) -> bytes:
    """The whole content, unpacked where the name ends in `.gz`."""
    with opened(path) as file:
        content = file.read()
    if not content.strip():
        raise InputError(f"{path}: is empty, expected interactions")
    return content


def plain_name(path: Path | str) -> str:
    """The file's name without folder and suffixes: `ratings` of `x/ratings.csv.gz`."""
    name = Path(path).name.removesuffix(".gz")
    return name.rsplit(".", 1)[0] if "." in name else name


def check_writable(path: Path | str) -> Path:
    """The path, after its folder was found to exist; to be asked before long work."""
    path = Path(path)
    if os.path.isdir(path):
        raise InputError(f"{path}: is a folder, expected the name of a file to write")
    if not os.path.exists(path.parent):
        raise InputError(f"{path}: cannot be written, there is no folder {path.parent}")
    as_now = os.access in os.supports_effective_ids
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=as_now):
        raise InputError(f"{path}: cannot be written, no right to write into {path.parent}")
    return path


@contextmanager
def written_whole(path: Path | str) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at `path` only once the block ends well."""
    path = check_writable(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            yield file
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)


def demo_folder() -> Path:
    """The folder of the package `elasticrec-demo`, which holds goodbooks and a finished model."""
    found = find_spec("elasticrec_demo")
    if found is None or found.origin is None:
        raise InputError(
            "the books and the model of the demo are a package of their own; install them by: "
            "pip install 'elasticrec[demo]'"
        )
    return Path(found.origin).parent


def save_bytes(path: Path | str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with written_whole(path) as file:
        file.write(content)


def fingerprint(arrays: dict[str, np.ndarray]) -> str:
    """Hex sha256 over names, types, shapes and bytes of arrays, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes() if array.size else b"")
    return digest.hexdigest()


def sha256_of(path: Path | str) -> str:
    """Hex sha256 of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
