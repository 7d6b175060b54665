"""The files of a model that clients get, each checked, and the facts that a list says of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.errors import InputError
from elasticrec.model import FILES, Model
from elasticrec.stream.chunk import COPIED_AT_ONCE, StreamIndex, read_index
from elasticrec.stream.format import ID_KINDS
from elasticrec.stream.side_files import WithdrawnList

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


WITHDRAWN = "withdrawn.list"
"""The file of a model folder with its withdrawn items."""

POPULAR = 12
"""Items in a list of models, at most: those that a page lists before it has more."""


@dataclass(frozen=True, eq=False)
class Release:
    """The files of a model that clients get, each checked."""

    stream: Path
    sha256: str
    """Hex hash of the stream."""
    index: StreamIndex
    beside: Mapping[str, bytes]
    """Contents by file name: curve.json, catalogue.json, withdrawn.list, where there are any."""
    head: bytes = b""
    """A signed head, of the same length, in place of the stream's own."""

    @classmethod
    def of(cls, root: Path | str) -> Release:
        """The release of a model folder."""
        model = Model.open(root)
        path = model.check("stream")
        index, n_bytes = read_index(path), path.stat().st_size
        if n_bytes != index.head.length:
            expected = f"expected the whole stream of {index.head.length}"
            raise InputError(f"{path}: has {n_bytes} bytes, {expected}")
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
            found, wanted = WithdrawnList.unpack(beside[WITHDRAWN]).model_id, index.head.model_id
            if found != wanted.hex():
                raise InputError(f"{withdrawn}: is of model {found}, expected {wanted.hex()}")
        return cls(path, model.hash_of("stream"), index, beside)

    def signed(self, key: Ed25519PrivateKey) -> Release:
        """The release with its head and withdrawn list signed."""
        head, beside = self.index.head.signed(key), dict(self.beside)
        if WITHDRAWN in beside:
            beside[WITHDRAWN] = WithdrawnList.unpack(beside[WITHDRAWN]).pack(key)
        index = replace(self.index, head=head)
        signed = replace(self, index=index, beside=beside, head=head.pack())
        digest = hashlib.sha256()
        for part in signed.parts():
            digest.update(part)
        return replace(signed, sha256=digest.hexdigest())

    def parts(self) -> Iterator[bytes]:
        """The stream's bytes."""
        yield self.head
        with self.stream.open("rb") as file:
            file.seek(len(self.head))
            while part := file.read(COPIED_AT_ONCE):
                yield part

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
