"""Reuse of freed memory on a CPU, where a step's large tensors come and go."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGE = 1 << 30


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed blocks below a gigabyte for reuse; False where that is unknown.

    By default it gives large blocks back to the system at once, and each step then waits for new
    pages: training took up to twice as long. The setting lasts as long as the process, whose
    memory stays at its peak.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    settings = ((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _LARGE), (_M_TOP_PAD, 1 << 26))
    return all(mallopt(name, value) == 1 for name, value in settings)
