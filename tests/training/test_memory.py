"""Freed memory is kept where the C library knows how, and nothing breaks elsewhere."""

import ctypes
import subprocess
import sys

import pytest

from elasticrec.training.memory import keep_freed_memory

COUNT = """
import resource, numpy as np
from elasticrec.training.memory import keep_freed_memory
if not keep_freed_memory():
    raise SystemExit("unknown")
np.ones(1 << 23)  # 64 MB
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(1 << 23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_large_arrays_take_no_new_pages():
    found = subprocess.run(
        [sys.executable, "-c", COUNT], check=False, capture_output=True, text=True
    )
    if found.stderr.strip() == "unknown":
        pytest.skip("not glibc")
    assert int(found.stdout) < 1000  # ten times 64 MB are 160,000 pages


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert keep_freed_memory() is False
