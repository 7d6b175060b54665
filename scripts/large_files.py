"""Fails when a file named on the command line is too large for the repository."""

import sys
from pathlib import Path

LIMIT_BYTES = 2_000_000


def main(names: list[str]) -> int:
    """0 when every file is small enough."""
    large = [name for name in names if Path(name).stat().st_size > LIMIT_BYTES]
    for name in large:
        print(f"{name} has more than {LIMIT_BYTES:,} bytes", file=sys.stderr)
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
