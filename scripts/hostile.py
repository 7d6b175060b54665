"""Writes device/hostile: files that every runtime must refuse, and what each of them teaches.

`--check` fails where the committed files are not what this makes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from elasticrec.bundle.patch import make_patch
from scripts.kept_files import keep_files
from tests.bundle.damage import sound
from tests.bundle.hostile import cases
from tests.bundle.hostile_beside import new_bundle, patches, sound_vector, truncated_at, vectors

FOLDER = Path(__file__).resolve().parent.parent / "device" / "hostile"

PAGE = """# Hostile files

Every file here breaks one rule of [the page](../../docs/bundle-format.md) and keeps the others,
checksums included (those that are about checksums aside). A runtime refuses each of them with its
own error (`BundleError`), without a crash, a hang, or memory for what a file merely claims.
`python scripts/hostile.py` writes them, this page included; `make check` compares. The slow reader
behind the golden files refuses all of them too, by test.

- `sound.elastic`, `sound.vector` and `sound.patch` are what the others were made of; they are to
  be taken.
- `*.elastic` are refused at opening. Those that start with `late-` may open, and are then refused
  when an id is first looked up.
- `*.vector` are refused by `sound.elastic`; `*.patch` are refused as upgrades of `sound.elastic`.
- `expected.json` holds `truncated`: cut `sound.elastic` at each of these lengths, where a field
  begins or ends, and every piece is refused.

| file | what it teaches |
|---|---|
"""


def hostile_files() -> dict[str, bytes]:
    """Name → content of every file of the folder."""
    files = {
        "sound.elastic": sound(),
        "sound.vector": sound_vector(),
        "sound.patch": make_patch(sound(), new_bundle()),
        "expected.json": (json.dumps({"truncated": truncated_at()}) + "\n").encode(),
    }
    rows = []
    for made, suffix in ((cases(), "elastic"), (vectors(), "vector"), (patches(), "patch")):
        for name, words, content in made:
            files[f"{name}.{suffix}"] = bytes(content)
            rows.append(f"| `{name}.{suffix}` | {words} |")
    return files | {"README.md": (PAGE + "\n".join(rows) + "\n").encode()}


if __name__ == "__main__":
    sys.exit(keep_files(FOLDER, hostile_files(), "python scripts/hostile.py"))
