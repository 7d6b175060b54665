"""Publishing: a model's stream and the files beside it as a folder that any static host serves."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.errors import InputError
from elasticrec.files import writing, written_whole
from elasticrec.model import FILES, Model
from elasticrec.model_folder import NAME as MODEL
from elasticrec.stream.format import ID_KINDS
from elasticrec.stream.index import COPIED_AT_ONCE, StreamIndex, read_index
from elasticrec.stream.side_files import WithdrawnList

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = "elasticrec models 1"
"""The first field of a list of models."""
POINTER = "models.json"
"""The published list of models, which names the files of each and is written last."""
WITHDRAWN = "withdrawn.list"
"""The file of a model folder with its withdrawn items."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The names that models may have."""
POPULAR = 12
"""Items in a list of models, at most: those that a page lists before it has more."""
HASH_DIGITS = 16
"""Hex digits of its hash in a published file's name."""


@dataclass(frozen=True, eq=False)
class Release:
    """The files of a model that clients get, each checked."""

    stream: Path
    sha256: str
    """Hex hash of the stream."""
    index: StreamIndex
    beside: Mapping[str, bytes]
    """Contents by file name: curve.json, catalogue.json, withdrawn.list, where there are any."""

    @classmethod
    def of(cls, root: Path | str) -> Release:
        """The release of a model folder."""
        model = Model.open(root)
        path = model.check("stream")
        index, n_bytes = read_index(path), path.stat().st_size
        if n_bytes != index.head.length:
            raise InputError(
                f"{path}: has {n_bytes} bytes, expected the whole stream of {index.head.length}"
            )
        beside = {
            FILES[part]: model.check(part).read_bytes()
            for part in ("curve", "catalogue")
            if model.has(part)
        }
        listed = beside.get(FILES["catalogue"])
        if listed is not None and hashlib.sha256(listed).digest() != index.head.catalogue:
            raise InputError(f"{model.path('catalogue')}: is not the catalogue of {path}")
        withdrawn = Path(root) / WITHDRAWN
        if withdrawn.exists():
            beside[WITHDRAWN] = withdrawn.read_bytes()
            found = WithdrawnList.unpack(beside[WITHDRAWN]).model_id
            if found != index.head.model_id.hex():
                raise InputError(
                    f"{withdrawn}: is of model {found}, expected {index.head.model_id.hex()}"
                )
        return cls(path, model.hash_of("stream"), index, beside)

    def signed(self, key: Ed25519PrivateKey) -> tuple[Release, bytes]:
        """The release with its head and withdrawn list signed, and the signed head."""
        from elasticrec.stream.signing import sign_head

        head = sign_head(self.index.head, key)
        index = StreamIndex(head, self.index.headers, self.index.ends)
        digest = hashlib.sha256()
        for part in _parts(self.stream, head.pack()):
            digest.update(part)
        beside = dict(self.beside)
        if WITHDRAWN in beside:
            beside[WITHDRAWN] = WithdrawnList.unpack(beside[WITHDRAWN]).pack(key)
        return Release(self.stream, digest.hexdigest(), index, beside), head.pack()

    def facts(self, name: str, files: Mapping[str, str]) -> dict[str, Any]:
        """The entry of a list of models, beside which the files are at these relative paths."""
        head = self.index.head
        return {
            "name": name,
            "model_id": head.model_id.hex(),
            "items": head.n_items,
            "numbers": 8 * head.n_blocks,
            "id_kind": ID_KINDS[head.id_kind],
            "score": "cosine" if head.cosine else "dot",
            "person": "vector and history" if head.vector_person else "history",
            "support": head.support,
            "trained": datetime.fromtimestamp(head.trained, UTC).isoformat(),
            "sequence": head.sequence,
            "signed": any(head.signature),
            "least_bytes": head.least,
            "bytes": head.length,
            "sha256": self.sha256,
            "popular": self.popular(),
            "files": dict(files),
        }

    def popular(self) -> list[dict[str, Any]]:
        """Number, id and title of the most popular items, for a first screen without the catalogue.

        Withdrawn items are left out; without titles there are none.
        """
        catalogue = json.loads(self.beside.get(FILES["catalogue"], b"{}"))
        if not catalogue.get("titles"):
            return []
        withdrawn = self.beside.get(WITHDRAWN)
        gone = set() if withdrawn is None else {*WithdrawnList.unpack(withdrawn).numbers}
        listed = zip(catalogue["ids"], catalogue["titles"], strict=True)
        return [
            {"number": number, "id": found, "title": title}
            for number, (found, title) in enumerate(islice(listed, POPULAR + len(gone)))
            if number not in gone
        ][:POPULAR]


def publish(
    model: Path | str,
    place: Path | str,
    *,
    name: str | None = None,
    page: Mapping[str, bytes] | None = None,
    key: Ed25519PrivateKey | None = None,
    keep: int = 3,
) -> dict[str, Any]:
    """Write a model's files below `place`; the model's entry in the list there.

    Files are called by their content and never change, so a download that has begun goes on.
    `models.json` names the present ones and is written last, in one step.

    Args:
        name: of the model; by default that of its folder.
        page: files of the page by name, to be put beside the list.
        key: signs the stream's head and the withdrawn list.
        keep: versions of each file that stay: the present one, and those before it.
    """
    place, release, head = Path(place), Release.of(model), None
    if (place / MODEL).exists():
        raise InputError(f"{place}: is a model, expected a folder to publish into")
    name = name or Path(os.path.abspath(model)).name
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a name of a model, expected at most 64 letters, digits, dots, "
            "dashes and underscores"
        )
    if keep < 1:
        raise InputError(f"{keep} versions to keep, expected at least 1")
    if key is not None:
        release, head = release.signed(key)
    with writing(place):
        listed = _listed(place / POINTER)
        folder = place / "models" / name
        folder.mkdir(parents=True, exist_ok=True)
        files = {"stream": _called("stream.elastic", release.sha256)}
        _write(folder / files["stream"], _parts(release.stream, head))
        for called, content in release.beside.items():
            files[called.partition(".")[0]] = _called(called, hashlib.sha256(content).hexdigest())
            _write(folder / files[called.partition(".")[0]], [content])
        if "catalogue" in files:
            packed = gzip.compress(release.beside[FILES["catalogue"]], mtime=0)
            _write(folder / f"{files['catalogue']}.gz", [packed])
        for called, content in sorted(
            (page or {}).items(), key=lambda file: file[0] == "index.html"
        ):
            _write(place / called, [content], again=True)
        entry = release.facts(name, {part: f"models/{name}/{file}" for part, file in files.items()})
        listed = sorted([*(each for each in listed if each["name"] != name), entry], key=_name)
        _write(place / POINTER, [models_document(listed)], again=True)
        _prune(folder, set(files.values()), keep)
    return entry


def models_document(entries: list[dict[str, Any]]) -> bytes:
    """A list of models as JSON."""
    return (json.dumps({"format": FORMAT, "models": entries}, indent=1) + "\n").encode()


def _listed(path: Path) -> list[dict[str, Any]]:
    """The models that were published before."""
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_bytes())
        if content["format"] == FORMAT and all(each["name"] for each in content["models"]):
            return list(content["models"])
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{path}: is not a list of models, expected the format {FORMAT!r}")


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["name"])


def _called(name: str, sha256: str) -> str:
    """`stream-0123456789abcdef.elastic` of `stream.elastic`."""
    stem, _, suffix = name.partition(".")
    return f"{stem}-{sha256[:HASH_DIGITS]}.{suffix}"


def _parts(path: Path, head: bytes | None) -> Iterator[bytes]:
    """A stream's bytes, with another head of the same length where one is given."""
    with path.open("rb") as file:
        if head is not None:
            file.seek(len(head))
            yield head
        while part := file.read(COPIED_AT_ONCE):
            yield part


def _write(path: Path, parts: Any, *, again: bool = False) -> None:
    """Write a file whole or not at all; one that is there already becomes the newest."""
    if path.exists() and not again:
        os.utime(path)
        return
    with written_whole(path) as file:
        for part in parts:
            file.write(part)


def _prune(folder: Path, present: set[str], keep: int) -> None:
    """Remove versions that are neither present nor among the newest of their kind."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True):
        stem, _, rest = path.name.rpartition("-")
        if rest and stem in ("stream", "curve", "catalogue", "withdrawn"):
            kinds.setdefault(stem + path.suffix, []).append(path)
    for paths in kinds.values():
        for path in paths[keep:]:
            if path.name.removesuffix(".gz") not in present:
                path.unlink()
