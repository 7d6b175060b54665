"""Writes the parts list of the service's image (CycloneDX) from `deploy/requirements.txt`.

    python scripts/sbom.py dist/elasticrec.cdx.json

cyclonedx-py lists the packages; the version of this package, which it cannot know, is added.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import elasticrec

ROOT = Path(__file__).resolve().parent.parent


def parts_list() -> dict[str, Any]:
    """The document; equal files give equal documents."""
    words = ["-W", "ignore", "-m", "cyclonedx_py", "requirements", "--output-reproducible"]
    words += ["--pyproject", "pyproject.toml", "--mc-type", "application", "--spec-version", "1.6"]
    command = [sys.executable, *words, "--output-format", "JSON", "deploy/requirements.txt"]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(ran.stdout)
    root, version = found["metadata"]["component"], elasticrec.__version__
    root |= {"version": version, "purl": f"pkg:pypi/elasticrec@{version}"}
    listed = sorted(each["bom-ref"] for each in found["components"])
    for each in found["dependencies"]:
        if each["ref"] == root["bom-ref"]:
            each["dependsOn"] = listed
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(parts_list(), indent=1) + "\n", encoding="utf-8")
