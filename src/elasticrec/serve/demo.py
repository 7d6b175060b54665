"""The model that comes with the package, for a look at the service without any training."""

from __future__ import annotations

from pathlib import Path

from elasticrec.data.errors import InputError

FOLDER = Path(__file__).parent / "demo_model"
"""Where the packaged model lies, a model folder or a folder of them."""


def demo_models() -> tuple[Path, ...]:
    """The folder of the packaged model."""
    if not FOLDER.exists():
        raise InputError("this installation has no packaged model; expected a model folder instead")
    return (FOLDER,)
