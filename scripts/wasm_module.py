"""Writes device/wasm/elasticrec.wasm by zig if its sources changed; `--check` only tells."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "device" / "wasm"
MODULE = FOLDER / "elasticrec.wasm"
SOURCES = (ROOT / "device" / "c" / "elasticrec.h", FOLDER / "elasticrec.c", Path(__file__))


def digest() -> str:
    """SHA-256 of the sources, which the module holds."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


def build(to: Path) -> None:
    """Compile the module to a file."""
    words = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding"]
    words += ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-msimd128", "-mbulk-memory"]
    words += ["-Wl,--no-entry", "-Wl,--export=__heap_base", "-Wl,--strip-all"]
    words += [f'-DSOURCES="{digest()}"', str(SOURCES[1]), "-o", str(to)]
    subprocess.run(words, check=True)
    to.chmod(0o644)  # the linker makes it a program


def main() -> int:
    """0 when the module is of these sources; `--check` never builds it."""
    if MODULE.exists() and digest().encode() in MODULE.read_bytes():
        return 0  # another release of zig would write other bytes
    if "--check" not in sys.argv[1:]:
        build(MODULE)
        return 0
    print(f"{MODULE} is stale, run: python scripts/wasm_module.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
