"""The catalogue: ids and titles of all items in item order, one JSON file beside the stream."""

from __future__ import annotations

import json

import numpy as np

from elasticrec.data.ids import Ids

FORMAT = "elasticrec catalogue 1"
"""The first field of a catalogue."""


def catalogue(ids: Ids, titles: np.ndarray | None, model_id: str) -> bytes:
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
