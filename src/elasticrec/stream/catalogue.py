"""The catalogue: ids and titles of all items in item order, one JSON file beside the stream."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.files import written_whole

FORMAT = "elasticrec catalogue 1"
"""The first field of a catalogue."""


def catalogue_bytes(ids: Ids, titles: np.ndarray | None, model_id: str) -> bytes:
    """The catalogue as bytes (section 11); equal inputs give equal bytes.

    Args:
        titles: (V,) text, "" where there is none; None where no item has a title.
        model_id: hex sha256.
    """
    content = {
        "format": FORMAT,
        "model_id": model_id,
        "id_kind": "text" if ids.are_text else "integer",
        "ids": [str(value) for value in ids.values.tolist()],
        "titles": None if titles is None else [title or None for title in titles.tolist()],
    }
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def write_catalogue(path: Path | str, ids: Ids, titles: np.ndarray | None, model_id: str) -> bytes:
    """The catalogue's bytes, after they were written whole or not at all."""
    content = catalogue_bytes(ids, titles, model_id)
    with written_whole(path) as file:
        file.write(content)
    return content
