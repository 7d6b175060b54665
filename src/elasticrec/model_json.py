"""`model.json`: what a model's folder says of its parts, read with care and written whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticrec.errors import InputError
from elasticrec.files import written_whole

FORMAT = "elasticrec model 2"
"""What the first field says."""
NAME = "model.json"
_ENTRY = {"sha256", "made_from", "config"}
"""What stands there of each part, at least."""


def new_content() -> dict[str, Any]:
    """The content of a model without parts."""
    return {"format": FORMAT, "parts": {}, "about": {}}


def read_content(root: Path) -> dict[str, Any]:
    """The content of the file in a folder; whatever is no model is refused."""
    path = root / NAME
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{root}: is no model, expected a folder that `elasticrec fit` made"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected JSON") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise InputError(
            f"{path}: format {found!r}, expected {FORMAT!r}; another version of elasticrec made "
            "this model: make it anew with `elasticrec fit`"
        )
    try:
        sound = all(_ENTRY <= set(entry) for entry in content["parts"].values())
        sound = sound and isinstance(content["about"], dict)
    except (KeyError, AttributeError, TypeError):
        sound = False
    if not sound:
        raise InputError(f"{path}: is damaged, expected what `elasticrec fit` wrote")
    return content


def write_content(root: Path, content: dict[str, Any]) -> None:
    """Write the file into a folder, whole or not at all."""
    with written_whole(root / NAME) as file:
        file.write((json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def plain(config: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    found: dict[str, Any] = json.loads(json.dumps(config))
    return found
