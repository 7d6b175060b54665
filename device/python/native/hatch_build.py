"""Compiles the C runtime into the wheel; where no compiler can, the wheel is without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ("-std=c99", "-O2", "-shared", "-fPIC", "-s")


def compiled(folder: Path, to: Path) -> bool:
    """True if $CC, or cc, gcc or clang, has compiled the library of a source folder to a file."""
    headers = [f"-I{each}" for each in (folder, folder.parent.parent / "c")]
    source = folder / "elasticrec_device_native.c"
    for name in [os.environ["CC"]] if "CC" in os.environ else ["cc", "gcc", "clang"]:
        words = [name, *FLAGS, *headers, str(source), "-o", str(to)]
        if shutil.which(name) and subprocess.run(words, check=False).returncode == 0:
            return True
    return False


class NativeHook(BuildHookInterface[Any]):
    """Adds the library, and the platform that it is for."""

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is written."""
        self._folder = TemporaryDirectory()
        library = Path(self._folder.name) / "libelasticrec.so"
        if not compiled(Path(self.root), library):
            self.app.display_warning("no C compiler worked: this wheel ranks by NumPy")
            return
        build_data["force_include"][str(library)] = library.name
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data |= {"pure_python": False, "tag": f"py3-none-{platform}"}

    def finalize(self, _version: str, _build_data: dict[str, Any], _path: str) -> None:
        """Remove the library once the wheel has it."""
        self._folder.cleanup()
