"""Generated files of a folder: written, or with `--check` compared with what is there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def keep_files(folder: Path, files: Mapping[str, bytes], command: str) -> int:
    """0 when the files were written or, with `--check` on the command line, are as they shall be.

    Args:
        files: name → content of all files of the folder; a README may be kept by hand instead.
        command: what to run where they are not.
    """
    there = {path.name for path in folder.glob("*")} - ({"README.md"} - files.keys())
    if "--check" not in sys.argv[1:]:
        folder.mkdir(parents=True, exist_ok=True)
        for name in there - files.keys():
            (folder / name).unlink()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return 0
    stale = there ^ files.keys()
    stale |= {name for name in there & files.keys() if (folder / name).read_bytes() != files[name]}
    if stale:
        named = ", ".join(sorted(stale)[:5])
        print(
            f"{len(stale)} files of {folder.name} are stale ({named}): run `{command}`",
            file=sys.stderr,
        )
    return int(bool(stale))
