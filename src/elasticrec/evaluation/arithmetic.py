"""How torch computes while something is measured: in full float32, on one thread per caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def full_precision() -> Iterator[None]:
    """Keep float32 products exact on a GPU that would round them to fewer bits (TF32)."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def single_thread() -> Iterator[None]:
    """Let each CPU operation use one thread.

    The number of threads may change the last bits of a product, so this gives the same numbers on
    every machine; callers that want more cores run several threads or processes of their own.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
