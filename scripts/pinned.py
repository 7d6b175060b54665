"""Writes what the image of the service installs, with hashes, to `deploy/`.

    python scripts/pinned.py

`requirements.txt` has what the service needs, `build.txt` what building its wheels needs. pip
resolves both for the image's Python on two platforms, so this needs an index. Versions of
`constraints.txt` are kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "3.12"
"""The Python of the Dockerfile."""
PLATFORMS = ("x86_64", "aarch64")
OWN = ("elasticrec-device",)
"""Packages of this repository, which the image builds itself."""
HEADER = "# For the image (Dockerfile) on x86_64 and aarch64; written by scripts/pinned.py.\n"


def wanted() -> dict[str, list[str]]:
    """Requirements by the file that pins them."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    service = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    service = [each for each in service if not each.startswith(OWN)]
    return {"requirements.txt": service, "build.txt": content["build-system"]["requires"]}


def resolved(requirements: list[str], platform: str) -> list[dict[str, Any]]:
    """What pip would install on a platform."""
    tags = [f"manylinux{version}_{platform}" for version in ("_2_28", "_2_17", "2014")]
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        words += ["--ignore-installed", "--only-binary=:all:", "--target", f"{place}/none"]
        words += ["--implementation=cp", f"--python-version={PYTHON}"]
        words += [f"--platform={tag}" for tag in tags]
        words += ["-c", str(ROOT / "constraints.txt"), "--report", str(report), *requirements]
        subprocess.run(words, check=True)
        found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return found


def lines(reports: list[list[dict[str, Any]]]) -> str:
    """The file: a version and its hashes per package."""
    hashes: dict[str, set[str]] = {}
    for each in (each for report in reports for each in report):
        name = each["metadata"]["name"].lower().replace("_", "-")
        pinned = f"{name}=={each['metadata']['version']}"
        hashes.setdefault(pinned, set()).add(each["download_info"]["archive_info"]["hash"])
    names = [pinned.partition("==")[0] for pinned in hashes]
    if len(set(names)) < len(names):
        raise SystemExit(f"platforms differ in versions: {sorted(hashes)}")
    text = HEADER
    for pinned in sorted(hashes):
        listed = (f" \\\n    --hash={each.replace('=', ':')}" for each in sorted(hashes[pinned]))
        text += pinned + "".join(listed) + "\n"
    return text


if __name__ == "__main__":
    for name, requirements in wanted().items():
        text = lines([resolved(requirements, platform) for platform in PLATFORMS])
        (ROOT / "deploy" / name).write_text(text, encoding="utf-8")
