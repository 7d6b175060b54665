"""Generated pages: written, or with `--check` compared with what is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def keep(page: Path, render: Callable[[], str]) -> int:
    """0 when the page was written or, with `--check` on the command line, is up to date."""
    text = render()
    if "--check" not in sys.argv[1:]:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{page.name} is stale: run `make docs` and commit it", file=sys.stderr)
    return 1
