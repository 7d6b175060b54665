"""Publishing: a model's stream and the files beside it as a folder that any static host serves."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.addresses import fetched, is_address, reaching
from elasticrec.errors import InputError
from elasticrec.files import writing, written_whole
from elasticrec.model import FILES
from elasticrec.model_folder import NAME as MODEL
from elasticrec.stream.release import Release

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = "elasticrec models 1"
"""The first field of a list of models."""
POINTER = "models.json"
"""The published list of models, which names the files of each and is written last."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The names that models may have."""
HASH_DIGITS = 16
"""Hex digits of its hash in a published file's name."""


def publish(
    model: Path | str,
    place: Path | str,
    *,
    name: str | None = None,
    page: Mapping[str, bytes] | None = None,
    key: Ed25519PrivateKey | None = None,
    keep: int = 3,
) -> dict[str, Any]:
    """Write a model's files below a folder or an address; the model's entry in the list there.

    Files are called by their content and never change, so a download that has begun goes on.
    `models.json` names the present ones and is written last, in one step.
    The files of a page are put beside it. A key signs the stream's head and the withdrawn list.
    Of each file so many versions stay as `keep` says.
    """
    name = name or Path(os.path.abspath(model)).name
    if not NAME.fullmatch(name):
        expected = "at most 64 letters, digits, dots, dashes and underscores"
        raise InputError(f"{name!r} is not a name of a model, expected {expected}")
    if keep < 1:
        raise InputError(f"{keep} versions to keep, expected at least 1")
    with fetched(model) as root, _site(place, name, keep) as folder:
        release = Release.of(root)
        release = release if key is None else release.signed(key)
        return _published(release, folder, name, page or {}, keep)


def _published(
    release: Release, place: Path, name: str, page: Mapping[str, bytes], keep: int
) -> dict[str, Any]:
    """The entry of a release whose files were written below a folder."""
    with writing(place):
        listed = _listed(place / POINTER)
        folder = place / "models" / name
        folder.mkdir(parents=True, exist_ok=True)
        files = {"stream": _called("stream.elastic", release.sha256)}
        _write(folder / files["stream"], release.parts())
        for called, content in release.beside.items():
            part, sha256 = called.partition(".")[0], hashlib.sha256(content).hexdigest()
            files[part] = _called(called, sha256)
            _write(folder / files[part], [content])
        if "catalogue" in files:
            packed = gzip.compress(release.beside[FILES["catalogue"]], mtime=0)
            _write(folder / f"{files['catalogue']}.gz", [packed])
        for called, content in sorted(page.items(), key=lambda file: file[0] == "index.html"):
            _write(place / called, [content], again=True)
        entry = release.facts(name, {part: f"models/{name}/{file}" for part, file in files.items()})
        others = [each for each in listed if each["name"] != name]
        listed = sorted([*others, entry], key=itemgetter("name"))
        _write(place / POINTER, [models_document(listed)], again=True)
        written = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
        for old in _stale(written, set(files.values()), keep):
            (folder / old).unlink()
    return entry


@contextmanager
def _site(place: Path | str, name: str, keep: int) -> Iterator[Path]:
    """The folder to publish into; what is written for an address goes there as the block ends.

    Files go first and the list of models last, so a reader finds all that the list names.
    """
    refused = InputError(f"{place}: is a model, expected a folder to publish into")
    if not is_address(place) or str(place).startswith("file://"):
        place = Path(str(place).removeprefix("file://"))
        if (place / MODEL).exists():
            raise refused
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder)
        address = str(place).rstrip("/")
        with reaching(address) as (store, base):
            store.invalidate_cache()
            if store.exists(f"{base}/{MODEL}"):
                raise refused
            if store.exists(f"{base}/{POINTER}"):
                store.get_file(f"{base}/{POINTER}", str(local / POINTER))
        yield local
        last = (POINTER, "index.html")
        files = [path.relative_to(local).as_posix() for path in local.rglob("*") if path.is_file()]
        models = f"models/{name}/"
        with reaching(address) as (store, base):
            for file in sorted(files, key=lambda each: (each == last[0], each == last[1], each)):
                if not (file.startswith(models) and store.exists(f"{base}/{file}")):
                    store.put_file(str(local / file), f"{base}/{file}")
            store.invalidate_cache()
            there = {Path(p).name: store.modified(p) for p in store.find(f"{base}/{models}")}
            for old in _stale(there, {Path(file).name for file in files}, keep):
                store.rm_file(f"{base}/{models}{old}")


def models_document(entries: list[dict[str, Any]]) -> bytes:
    """A list of models as JSON."""
    return (json.dumps({"format": FORMAT, "models": entries}, indent=1) + "\n").encode()


def _listed(path: Path) -> list[dict[str, Any]]:
    """The models that were published before."""
    if not path.exists():
        return []
    with suppress(ValueError, KeyError, TypeError):
        content = json.loads(path.read_bytes())
        if content["format"] == FORMAT and all(each["name"] for each in content["models"]):
            return list(content["models"])
    raise InputError(f"{path}: is not a list of models, expected the format {FORMAT!r}")


def _called(name: str, sha256: str) -> str:
    """`stream-0123456789abcdef.elastic` of `stream.elastic`."""
    stem, _, suffix = name.partition(".")
    return f"{stem}-{sha256[:HASH_DIGITS]}.{suffix}"


def _write(path: Path, parts: Iterable[bytes], *, again: bool = False) -> None:
    """Write a file whole or not at all; one that is there already becomes the newest."""
    if path.exists() and not again:
        os.utime(path)
        return
    with written_whole(path) as file:
        file.writelines(parts)


def _stale(files: Mapping[str, Any], present: set[str], keep: int) -> list[str]:
    """The files, by when each was written, that are neither present nor the newest of a kind."""
    kinds: dict[str, list[str]] = {}
    for name in sorted(files, key=lambda each: files[each], reverse=True):
        stem, _, rest = name.rpartition("-")
        if rest and stem in ("stream", "curve", "catalogue", "withdrawn"):
            kinds.setdefault(stem + Path(name).suffix, []).append(name)
    old = [name for names in kinds.values() for name in names[keep:]]
    return [name for name in old if name.removesuffix(".gz") not in present]
