"""Bytes of plain and gzip files, and files written whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, cast

import numpy as np

from elasticrec.errors import InputError


def check_readable(path: Path | str) -> Path:
    """The path, after it was found to be a file with something in it that may be read."""
    path = Path(path)
    try:
        with _unpacked(path) as file:
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


def zip_member(path: Path | str) -> tuple[Path, str] | None:
    """The archive and the member of a path such as `ml-1m.zip/ml-1m/ratings.dat`, else None."""
    path = Path(path)
    for parent in path.parents:
        if parent.suffix.lower() == ".zip" and parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    return None


def only_member(path: Path | str) -> Path:
    """The path, or that of the only file in a zip archive; of several one must be named."""
    path = Path(path)
    if path.suffix.lower() != ".zip" or not path.is_file():
        return path
    try:
        with zipfile.ZipFile(path) as archive:
            names = [each.filename for each in archive.infolist() if not each.is_dir()]
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: is not a sound zip archive ({error})") from None
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        example = f", such as {path / names[0]}" if names else ""
        raise InputError(f"{path}: holds {', '.join(names[:12]) or 'nothing'}; name one{example}")
    return path / names[0]


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of a member of a zip archive."""
    found = zip_member(path)
    if found is None:
        with path.open("rb") as file:
            yield file
        return
    try:
        with zipfile.ZipFile(found[0]) as archive, archive.open(found[1]) as member:
            yield member
    except KeyError:
        with zipfile.ZipFile(found[0]) as archive:
            names = ", ".join(archive.namelist()[:12])
        raise InputError(f"{found[0]}: has no {found[1]}, it holds {names}") from None
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{found[0]}: is not a sound zip archive ({error})") from None


@contextmanager
def opened(path: Path | str) -> Iterator[IO[bytes]]:
    """A stream of the content, unpacked where the name ends in `.gz`; broken gzip is refused."""
    path = check_readable(path)
    try:
        with _unpacked(path) as plain:
            if path.suffix != ".gz":
                yield plain
                return
            with gzip.open(plain, "rb") as file:
                yield cast("IO[bytes]", file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: is not a sound and whole gzip file ({error})") from None


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
def writing(path: Path | str) -> Iterator[None]:
    """Refuse in one line what the system does not let the block write."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


@contextmanager
def written_whole(path: Path | str) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at `path` only once the block ends well."""
    path = check_writable(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with writing(path):
            with partial.open("wb") as file:
                yield file
            os.replace(partial, path)
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
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


ALIGNMENT = 64
"""Bytes: an array begins at a multiple of it, in its file as in memory."""
_LOCAL_HEADER, _LONG_SIZES, _PADDING = 30, 20, 0xD935
"""Of a zip archive: bytes before a member's name, bytes of its 64-bit sizes, a field to skip."""


class Arrays(ABC):
    """A few plain arrays, which `arrays` gives."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        return fingerprint(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write one `.npz` file, whole or not at all, so that its arrays can be mapped."""
        with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in self.arrays().items():
                member = zipfile.ZipInfo(f"{name}.npy")
                before = file.tell() + _LOCAL_HEADER + len(member.filename) + _LONG_SIZES + 4
                pad = -before % ALIGNMENT
                member.extra = struct.pack(f"<HH{pad}x", _PADDING, pad)
                with archive.open(member, "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)


def mapped_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file: mapped, unless they are packed or empty. All are checked.

    A change to an array does not reach the file.
    """
    found, end = {}, 0
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            file.seek(end + _LOCAL_HEADER - 4)
            begin = end + _LOCAL_HEADER + int(np.frombuffer(file.read(4), "<u2", 2).sum())
            if member.header_offset != end:
                break
            end = begin + member.compress_size
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                header = getattr(np.lib.format, f"read_array_header_{version[0]}_{version[1]}")
                shape, fortran, dtype = header(stream)
                if member.compress_type or fortran or dtype.hasobject or 0 in (*shape, len(shape)):
                    stream.seek(0)
                    array = np.lib.format.read_array(stream, allow_pickle=False)
                else:
                    begin += stream.tell()
                    while stream.read(1 << 20):  # at its end the checksum is compared
                        pass
                    array = np.asarray(np.memmap(file, dtype, "c", begin, shape))
            found[member.filename.removesuffix(".npy")] = array
        if end != archive.start_dir:
            raise ValueError("its arrays do not follow each other")
    return found


def sha256_of(path: Path | str) -> str:
    """Hex sha256 of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
