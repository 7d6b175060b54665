"""The Python runtime with its C core, as one that is installed beside it loads it."""

import importlib.util
import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "device" / "python"
SOURCES = FOLDER / "native"
CORE = "elasticrec_device_native"


def loaded(name, path):
    """A module from a file, under a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_core(folder):
    """The Python runtime whose core is compiled to a folder; None where no compiler works."""
    for path in (FOLDER / "elasticrec_device.py", SOURCES / f"{CORE}.py"):
        shutil.copy(path, folder)
    hook = loaded("hatch_build", SOURCES / "hatch_build.py")
    if not hook.compiled(SOURCES, folder / "libelasticrec.so"):
        return None
    sys.modules[CORE] = loaded(CORE, folder / f"{CORE}.py")
    found = loaded("elasticrec_device_with_core", folder / "elasticrec_device.py")
    del sys.modules[CORE]
    assert found.NATIVE
    return found
