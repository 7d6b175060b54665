"""Writes device/conformance: golden streams and the answers every runtime must give.

`--check` fails where the committed files are not what this makes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from elasticrec.stream.chunk import index_of
from elasticrec.stream.side_files import public_bytes
from scripts.kept_files import keep_files
from tests.stream.golden import KEY, catalogue, stream, withdrawn
from tests.stream.questions import answers, cuts, vectors
from tests.stream.worlds import WORLDS

FOLDER = Path(__file__).resolve().parent.parent / "device" / "conformance"


def golden_files() -> dict[str, bytes]:
    """Name → content of every file of the folder."""
    files = vectors()
    streams, questions = [], []
    for world in WORLDS:
        data = stream(world)
        beside = {"catalogue.json": catalogue(world), "withdrawn": withdrawn(world)}
        named = {f"{world.name}.{end}": part for end, part in beside.items() if part is not None}
        files |= {f"{world.name}.elastic": data} | named
        index = index_of(data, len(data))
        entry = {
            "file": f"{world.name}.elastic",
            "teaches": world.teaches,
            "sha256": hashlib.sha256(data).hexdigest(),
            "signed": world.signed,
            "ids": world.ids,
            "items": world.n_items,
            "blocks": world.n_blocks,
            "sequence": index.head.sequence,
            "least": index.head.least,
            "ends": index.ends,
            "cuts": cuts(data),
        }
        for end in beside:
            name = f"{world.name}.{end}"
            entry[end.split(".", maxsplit=1)[0]] = name if name in files else None
        streams.append(entry)
        questions += answers(world, data, files)
    expected = {
        "format": "elasticrec conformance 2",
        "public_key": public_bytes(KEY).hex(),
        "foreign_vector": "foreign.vector",
        "streams": streams,
        "questions": questions,
    }
    return files | {"expected.json": readable(expected).encode()}


def readable(expected: dict[str, Any]) -> str:
    """JSON with one stream or question per line."""
    fields = []
    for name, value in expected.items():
        shown = dumped(value)
        if isinstance(value, list):
            shown = "[\n  " + ",\n  ".join(map(dumped, value)) + "]"
        fields.append(f"{dumped(name)}: {shown}")
    return "{" + ",\n ".join(fields) + "}\n"


def dumped(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(keep_files(FOLDER, golden_files(), "python scripts/conformance.py"))
