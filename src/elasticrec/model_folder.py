"""A model's folder: where its files are, and `model.json`, read with care and written whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticrec.errors import InputError
from elasticrec.files import writing

FORMAT = "elasticrec model 2"
"""The first field of the file."""
NAME = "model.json"
READY = ".ready"
"""The folder of a finished model whose files have yet to move to their places."""
_ENTRY = {"sha256", "made_from", "config"}
"""Fields of each part, at least."""


def new_content() -> dict[str, Any]:
    """The content of a model without parts."""
    return {"format": FORMAT, "parts": {}, "about": {}}


def read_content(root: Path) -> dict[str, Any]:
    """The content of the file in a folder; whatever is no model is refused."""
    path = place(root, NAME)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{root}: is no model, expected a folder that `elasticrec fit` made"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
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


def plain(config: dict[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    found: dict[str, Any] = json.loads(json.dumps(config))
    return found


def place(root: Path, name: str) -> Path:
    """Where a file of the model is: in its place, unless a switch was cut off before it moved."""
    waiting = root / READY / name
    return waiting if waiting.exists() else root / name


def check_folder(root: Path) -> None:
    """Refuse a folder that cannot become a model's, because it is none or has other files."""
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: is a file, expected a folder for the model")
    others = () if place(root, NAME).exists() or not root.exists() else root.iterdir()
    if any(not each.name.startswith(".") for each in others):
        raise InputError(f"{root}: holds other files, expected a new or empty folder")


def made_folder(root: Path) -> Path:
    """A model's folder, made if it is missing; one with other files is refused."""
    check_folder(root)
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
    return root
