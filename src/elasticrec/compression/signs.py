"""Successive signs: a number as eight bits, each the sign of what the bits before it left over.

The first bit moves by a step of 1.1 towards the number, each further one by 0.55 of the step
before. A depth of b keeps the first b bits and reads them as Σ_p ± a(b, p), with numbers a fitted
for that depth. Reading is a sum of one term per bit, so one table of 256 sums serves a byte of
eight numbers.
"""

from __future__ import annotations

import numpy as np

BLOCK = 8
"""d: numbers per block, so that one plane of a block is one byte."""
PLANES = 8
"""Bits per number."""
FIRST = 1.1
"""The step of the first bit, in units of the spread."""
RATIO = 0.55
"""Each further step as a share of the one before: above a half, so that later bits can correct."""
SIGNS = (2.0 * ((np.arange(256)[:, None] >> np.arange(BLOCK)) & 1) - 1).astype(np.float32)
"""(256, 8): +1 where bit j of a byte is set, else -1."""


def step_table(steps: np.ndarray) -> np.ndarray:
    """(8, 8): row b - 1 holds a(b, 0) … a(b, b - 1), then zeros, of the 36 steps in one line."""
    table = np.zeros((PLANES, PLANES), dtype=steps.dtype)
    table[np.tril_indices(PLANES)] = steps
    return table


def sign_planes(scaled: np.ndarray) -> np.ndarray:
    """(8, n, N) uint8 byte columns of numbers (n, N, 8) in units of their block's spread."""
    rest = np.array(scaled, dtype=np.float32)
    planes = np.empty((PLANES, *rest.shape[:2]), dtype=np.uint8)
    step = np.float32(FIRST)
    for plane in planes:
        up = rest >= 0
        plane[:] = np.packbits(up, axis=-1, bitorder="little")[..., 0]
        rest -= np.where(up, step, -step)
        step *= np.float32(RATIO)
    return planes


def fit_steps(moments: np.ndarray, products: np.ndarray) -> np.ndarray:
    """(P(P+1)/2,) float32 steps a(b, p) that read numbers by P signs with least squared error.

    Least squares over b signs needs no more than their second moments, so the P × P matrix of all
    signs holds the problem of every depth. A deeper reading is never worse than a shallower one.

    Args:
        moments: (P, P) Σ ± ± over all numbers, weighted as the errors are.
        products: (P,) Σ ± z of the signs and the numbers, weighted alike.
    """
    fitted = [
        np.linalg.lstsq(moments[:b, :b], products[:b], rcond=1e-12)[0]
        for b in range(1, len(products) + 1)
    ]
    return np.concatenate(fitted).astype(np.float32)
