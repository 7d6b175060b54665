"""The device runtime, which ranks from a bundle alone: as installed, or from this checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from elasticrec.errors import InputError

NAME = "elasticrec_device"
IN_CHECKOUT = Path(__file__).resolve().parents[3] / "device" / "python" / f"{NAME}.py"


def device_runtime() -> ModuleType:
    """The module `elasticrec_device`; where there is none, an error says how to get it."""
    try:
        return import_module(NAME)
    except ModuleNotFoundError:
        pass
    spec = spec_from_file_location(NAME, IN_CHECKOUT) if IN_CHECKOUT.exists() else None
    if spec is None or spec.loader is None:
        raise InputError(
            "the device runtime is missing; install it by: pip install elasticrec-device"
        )
    module = module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module
