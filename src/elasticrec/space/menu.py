"""The default menu of a coded model: depths filled by energy, crossed with neighbour counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space.composition import DEEPEST, Menu

LEFT_OVER = np.array([1.0, 0.364, 0.121, 0.0376, 0.0143, 0.0067, 0.0042, 0.0032, 0.0028])
"""Share of a normal number's mean square that depth 0 … 8 leaves unsaid (`coding.signs`)."""
NEIGHBOURS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Neighbour counts of the default menu."""
NEIGHBOUR_BYTES = 2.5
"""About what a neighbour takes."""
NARROW, DEEP = (2, 4, 8, 12, 16), (1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
"""Planes per item: so many, and so many times N."""
SHARPNESS, WORDS_SHARPNESS = 0.75, 0.5
"""Energies are raised to this power, with signs alone and beside words: a list's top needs the weak
blocks more than squares do, and words leave less of the strong ones."""
LEAST_SHARE, MOST_SHARE = 1 / 12, 2.5
"""Bytes of neighbours beside those of codes, between which a row is worth its place."""


def default_menu(
    energy: np.ndarray, *, n_lists: int = 0, most_neighbours: int = NEIGHBOURS[-1]
) -> Menu:
    """At most about 64 rows from nothing to all there is, each dense row part of the next.

    A row that keeps both codes and neighbours must have neither far more of the one than of the
    other: such rows differ from their neighbours on the menu by next to nothing. Codes alone,
    neighbours alone, nothing and everything are always there.

    Args:
        energy: (N,) how much each block moves scores, item × user (`space.energy`).
        n_lists: K, blocks whose first plane holds words.
        most_neighbours: the longest list that an item has.
    """
    N = len(energy)
    usual = [count for count in NEIGHBOURS if count <= most_neighbours]
    totals = sorted({n for n in NARROW if n < N} | {round(share * N) for share in DEEP} | {0})
    rows, counts = [], []
    sharp = np.asarray(energy) ** (WORDS_SHARPNESS if n_lists else SHARPNESS)
    for depths in filled_depths(sharp, totals, n_lists=n_lists):
        for count in usual:
            planes = int(depths.sum())
            everything = planes == DEEPEST * N and count == usual[-1]
            if everything or _worth_a_row(planes, count):
                rows.append(depths)
                counts.append(count)
    return Menu(np.array(rows, dtype=np.uint8), np.array(counts, dtype=np.uint8))


def _worth_a_row(planes: int, count: int) -> bool:
    """Whether so many planes and neighbours per item are a row of the default menu."""
    if not planes or not count:
        return True
    return LEAST_SHARE <= NEIGHBOUR_BYTES * count / planes <= MOST_SHARE


def filled_depths(energy: np.ndarray, totals: Sequence[int], *, n_lists: int = 0) -> np.ndarray:
    """(n, N) uint8 depths that spend so many planes in all; each row contains the smaller ones.

    Planes go one by one to the block whose next plane lowers the mean square error of a score most:
    reverse water-filling in whole planes. Words come first, list by list, then a letter of each
    block by energy: each says what those before it left over, and signs what all of them left over.

    Args:
        energy: (N,) mean square of what each block adds to a score.
        totals: numbers of planes, from 0 to 8·N.
        n_lists: K, blocks whose first plane holds words.
    """
    energy = np.asarray(energy, dtype=np.float64)
    if energy.ndim != 1 or not len(energy) or not np.isfinite(energy).all() or energy.min() < 0:
        raise InputError(f"energies {energy.tolist()}, expected one number per block, none below 0")
    most = DEEPEST * len(energy)
    if min(totals) < 0 or max(totals) > most:
        raise InputError(f"{min(totals)} to {max(totals)} planes, expected 0 to {most}")
    gains = energy[:, None] * -np.diff(LEFT_OVER)  # (N, 8), falling along each row
    first = (np.arange(len(energy)) < n_lists) + int(n_lists > 0)  # plane of signs
    gains[np.arange(DEEPEST) >= DEEPEST - first[:, None]] = -1  # no place is left for these
    order = np.argsort(-gains.ravel(), kind="stable")[: most - first.sum()] // DEEPEST
    if n_lists:
        order = np.concatenate([np.arange(n_lists), np.argsort(-energy, kind="stable"), order])
    return np.array([np.bincount(order[:n], minlength=len(energy)) for n in totals], np.uint8)
