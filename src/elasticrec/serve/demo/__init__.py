"""The model that comes with the package, for a look at the service without any training."""

from __future__ import annotations

from pathlib import Path

from elasticrec.errors import InputError

FOLDER = Path(__file__).parent / "goodbooks"
"""A model folder with a stream, its catalogue and its curve; `scripts/demo_model.py` makes it."""


def demo_model() -> Path:
    """The packaged model's folder."""
    if not (FOLDER / "model.json").exists():
        raise InputError("this installation has no packaged model; expected a model folder instead")
    return FOLDER
