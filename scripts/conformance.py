"""Writes device/conformance: golden bundles and the answers every runtime must give.

`--check` fails where the committed files are not what this makes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from elasticrec.bundle.patch import make_patch
from scripts.kept_files import keep_files
from tests.bundle.golden import CASES, bundle
from tests.bundle.questions import answers, vectors

FOLDER = Path(__file__).resolve().parent.parent / "device" / "conformance"


def golden_files() -> dict[str, bytes]:
    """Name → content of every file of the folder."""
    people = vectors()
    files, described = dict(people), []
    for case in CASES:
        content, catalogue = bundle(case)
        name = f"{case.name}.elastic"
        files[name] = content
        entry = {
            "file": name,
            "teaches": case.teaches,
            "sha256": hashlib.sha256(content).hexdigest(),
            "ids": case.ids,
            "catalogue": f"{case.name}.catalogue.json" if case.titles else None,
        }
        if case.titles:
            files[f"{case.name}.catalogue.json"] = catalogue
        described.append(entry | {"questions": answers(case, content, people)})
    files["mixed.patch"] = make_patch(files["mixed-before.elastic"], files["mixed.elastic"])
    upgrade = {"old": "mixed-before.elastic", "patch": "mixed.patch", "new": "mixed.elastic"}
    expected = {
        "format": "elasticrec conformance 1",
        "bundles": described,
        "upgrades": [upgrade],
        "foreign_vector": "foreign.vector",
    }
    files["expected.json"] = readable(expected).encode()
    return files


def readable(expected: dict[str, Any]) -> str:
    """JSON with one question per line."""
    bundles = []
    for entry in expected["bundles"]:
        facts = {key: value for key, value in entry.items() if key != "questions"}
        lines = ",\n   ".join(dumped(question) for question in entry["questions"])
        bundles.append(f'{dumped(facts)[:-1]},"questions":[\n   {lines}]}}')
    rest = {key: value for key, value in expected.items() if key != "bundles"}
    return f'{dumped(rest)[:-1]},\n "bundles":[\n  ' + ",\n  ".join(bundles) + "]}\n"


def dumped(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(keep_files(FOLDER, golden_files(), "python scripts/conformance.py"))
