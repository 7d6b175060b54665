"""The catalogue: ids and titles of all items in model order, one JSON file beside the bundles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.files import written_whole
from elasticrec.data.ids import Ids

FORMAT = "elasticrec catalogue 1"
"""What the first field of a catalogue says."""


def catalogue(ids: Ids, titles: np.ndarray | None, model_id: str) -> bytes:
    """The catalogue as bytes (page, 14); equal inputs give equal bytes.

    Args:
        titles: (V,) text, "" where there is none; None where no item has a title.
        model_id: hex sha256.
    """
    content = {
        "format": FORMAT,
        "model_id": model_id,
        "id_kind": "string" if ids.are_text else "integer",
        "ids": [str(value) for value in ids.values.tolist()],
        "titles": None if titles is None else [title or None for title in titles.tolist()],
    }
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def write_catalogue(folder: ModelFolder, path: Path | str) -> bytes:
    """The catalogue of a model folder, after it was written, whole or not at all."""
    split = folder.split()
    content = catalogue(split.item_ids, split.titles, folder.model_id)
    with written_whole(path) as file:
        file.write(content)
    return content
