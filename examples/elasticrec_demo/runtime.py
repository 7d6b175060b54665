"""The device runtime, which ranks from a stream alone: as installed, or from this checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from elasticrec.errors import InputError

NAME = "elasticrec_device"
IN_CHECKOUT = Path(__file__).resolve().parents[2] / "device" / "python"


def device_runtime() -> ModuleType:
    """The module `elasticrec_device`; where there is none, an error says how to get it."""
    try:
        return import_module(NAME)
    except ModuleNotFoundError:
        if not (IN_CHECKOUT / f"{NAME}.py").exists():
            raise InputError(
                "the device runtime is missing; install it by: pip install elasticrec-device"
            ) from None
    sys.path.append(str(IN_CHECKOUT))
    return import_module(NAME)
