"""Kept: a file on the shelf, and the small JSON beside it that says what it is."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elasticrec.serve.locks import read_json

HASH = r"[0-9a-f]{64}"
NAME = re.compile(rf"{HASH}\.elastic|{HASH}\.catalogue|{HASH}-{HASH}\.patch")
"""What files may be called; nothing else is ever looked up."""
ABOUT = ".json"
"""What is added to a file's name for what stands beside it."""
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Kept:
    """A file on the shelf."""

    name: str
    """Its name there."""
    sha256: str
    """Hex, of its content."""
    n_bytes: int
    """Its length."""
    about: Mapping[str, Any]
    """Plain facts about it."""

    @classmethod
    def of(cls, name: str, content: bytes, about: Mapping[str, Any]) -> Kept:
        """A file of that content."""
        return cls(name, hashlib.sha256(content).hexdigest(), len(content), dict(about))

    @classmethod
    def addressed(cls, suffix: str, content: bytes, about: Mapping[str, Any]) -> Kept:
        """A file that is called by the hash of its content."""
        sha256 = hashlib.sha256(content).hexdigest()
        return cls(sha256 + suffix, sha256, len(content), dict(about))

    @classmethod
    def read(cls, folder: Path, name: str) -> Kept | None:
        """What stands beside a file; None where nothing sound does."""
        stored = read_json(folder / (name + ABOUT))
        if stored is None or not {"sha256", "n_bytes", "about"} <= stored.keys():
            return None
        kept = cls(name, str(stored["sha256"]), int(stored["n_bytes"]), stored["about"])
        named_by_content = "-" not in name
        return None if named_by_content and not name.startswith(kept.sha256) else kept

    def to_json(self) -> bytes:
        """What stands beside it."""
        facts = {"sha256": self.sha256, "n_bytes": self.n_bytes, "about": self.about}
        return json.dumps(facts, separators=(",", ":")).encode()


def hash_of(handle: int) -> str:
    """Hex sha256 of an open file; where the handle stands does not matter."""
    digest, at = hashlib.sha256(), 0
    while chunk := os.pread(handle, CHUNK_BYTES, at):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()
