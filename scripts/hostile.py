"""Writes device/hostile: files that every runtime must refuse, and the rule that each breaks.

`--check` fails where the committed files are not what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from elasticrec.stream.side_files import public_bytes
from scripts.conformance import readable
from scripts.kept_files import keep_files
from tests.stream import hostile, hostile_beside, hostile_chunks, hostile_content
from tests.stream.damage import KEY, SOUND, sound, sound_head
from tests.stream.golden import catalogue, withdrawn

FOLDER = Path(__file__).resolve().parent.parent / "device" / "hostile"
SUFFIXES = {
    "stream": "elastic",
    "vector": "vector",
    "withdrawn": "withdrawn",
    "catalogue": "catalogue.json",
}


def cases() -> Iterator[hostile.Case]:
    """Every hostile file."""
    yield from hostile.of_head()
    yield from hostile.of_length()
    yield from hostile_chunks.of_chunks()
    yield from hostile_chunks.of_codebooks()
    yield from hostile_chunks.of_columns()
    yield from hostile_chunks.of_codes()
    yield from hostile_content.of_neighbours()
    yield from hostile_content.of_ids()
    yield from hostile.of_authenticity()
    yield from hostile_beside.vectors()
    yield from hostile_beside.withdrawn_lists()
    yield from hostile_beside.catalogues()


def hostile_files() -> dict[str, bytes]:
    """Name → content of every file of the folder."""
    files = {
        "sound.elastic": sound(),
        "sound.vector": hostile_beside.sound_vector(),
        "sound.withdrawn": withdrawn(SOUND),
        "sound.catalogue.json": catalogue(SOUND),
    }
    described: list[dict[str, Any]] = []
    for case in cases():
        name = f"{case.name}.{SUFFIXES[case.kind]}"
        files[name] = case.data
        described.append(
            {
                "file": name,
                "kind": case.kind,
                "section": case.section,
                "rule": case.rule,
                "names": case.names,
                "key": case.key,
                "ask": case.ask,
            }
        )
    head = sound_head()
    expected = {
        "format": "elasticrec hostile 2",
        "public_key": public_bytes(KEY).hex(),
        "other_key": public_bytes(hostile.STRANGER).hex(),
        "sequence": head.sequence,
        "head": 276 + len(head.empty),
        "least": head.least,
        "truncated": hostile_beside.truncated_at(),
        "cases": described,
    }
    text = readable(expected)
    return files | {"expected.json": text.encode()}


if __name__ == "__main__":
    sys.exit(keep_files(FOLDER, hostile_files(), "python scripts/hostile.py"))
