"""How good a composition from a menu is: exact, and thousands of times per second.

An item's score depends only on its own group's row. So how many items of group g' under row r'
outrank a relevant item under its own row r can be counted once, for every pair of rows; the rank of
that item under any composition is then the sum of one count per group. Counts end at K: beyond, the
item is not listed whatever the others are.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.data.errors import InputError
from elasticrec.evaluation.arithmetic import full_precision, single_thread
from elasticrec.evaluation.compositions import mean_metric, user_chunks
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.evaluation.toplist import best_scores

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.evaluation.questions import Questions
    from elasticrec.evaluation.rows import RowScores
    from elasticrec.space.composition import Menu

log = logging.getLogger(__name__)

LARGEST_K = 255
"""Counts are bytes."""


class MenuEvaluator:
    """Sums counts of outranking items, made once; equal to the plain evaluator on its menu."""

    def __init__(
        self,
        scores: RowScores,
        asked: Questions,
        menu: Menu,
        metric: str = "recall@100",
        *,
        threads: int | None = None,
    ) -> None:
        """An evaluator of the users of `scores`, who are those of `asked`, in its order.

        Args:
            menu: its R rows; the counts take n·R·G·R bytes for n relevant pairs.
            threads: how many build the counts; by default one per processor, two beside a GPU.
        """
        self.metric = str(parse_metric(metric))
        self.batch = 128
        self._asked = asked
        self._k = parse_metric(metric).k
        if self._k > LARGEST_K:
            raise InputError(f"{metric} needs counts beyond {LARGEST_K}; use the plain evaluator")
        self._lookup = menu.lookup()
        pair_groups = np.searchsorted(scores.bounds, asked.relevant.items, side="right") - 1
        G, R = len(scores.bounds) - 1, menu.n_rows
        self._pairs = [np.flatnonzero(pair_groups == g) for g in range(G)]
        self._counts = [np.zeros((R, G, R, len(mine)), dtype=np.uint8) for mine in self._pairs]
        place = np.empty(len(pair_groups), dtype=np.int64)
        for mine in self._pairs:
            place[mine] = np.arange(len(mine))

        def build(chunk: tuple[int, int]) -> None:
            first, counts = _count_chunk(scores, asked, menu, self._k, *chunk)
            for g, mine in enumerate(self._counts):
                here = np.flatnonzero(pair_groups[first : first + len(counts)] == g)
                mine[..., place[first + here]] = np.moveaxis(counts[here], 0, -1)

        pool = ThreadPoolExecutor(threads or (2 if scores.device == "cuda" else os.cpu_count()))
        with full_precision(), single_thread(), pool:
            list(pool.map(build, user_chunks(scores)))
        log.info("counted %d pairs under %d rows of %d groups", len(pair_groups), R, G)

    def evaluate(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B,) float64: the metric of each composition, depths (B, G, N) and neighbours (B, G)."""
        return self.evaluate_choices(self.choices(depths, neighbours))

    def evaluate_choices(self, choices: np.ndarray) -> np.ndarray:
        """(B,) float64: the metric of each composition that gives group g the row choices[b, g]."""
        parts = [
            mean_metric(self.ranks(choices[start : start + self.batch]), self._asked, self.metric)
            for start in range(0, len(choices), self.batch)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def choices(self, depths: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """(B, G) the menu's row of every group; a row that is not on the menu is refused."""
        rows = np.concatenate([depths, neighbours[..., None]], axis=2).astype(np.uint8)
        width = rows.shape[2]
        flat = rows.tobytes()
        keys = [flat[start : start + width] for start in range(0, len(flat), width)]
        found = [self._lookup.get(key, -1) for key in keys]
        if -1 in found:
            row = list(keys[found.index(-1)])
            raise InputError(
                f"depths {row[:-1]} with {row[-1]} neighbours are no row of this menu of "
                f"{len(self._lookup)}"
            )
        return np.array(found, dtype=np.int64).reshape(rows.shape[:2])

    def ranks(self, choices: np.ndarray) -> np.ndarray:
        """(B, n) the rank of every relevant pair, exact where it is below K."""
        B, G = choices.shape
        R = len(self._lookup)
        ranks = np.empty((B, len(self._asked.relevant)), dtype=np.uint16)
        columns = np.arange(G) * R + choices  # (B, G)
        for g, counts in enumerate(self._counts):
            rows = choices[:, g, None] * (G * R) + columns  # (B, G)
            each = counts.reshape(R * G * R, -1)[rows]  # (B, G, n_g)
            ranks[:, self._pairs[g]] = each.sum(axis=1, dtype=np.uint16)
        return ranks


def _count_chunk(
    scores: RowScores, asked: Questions, menu: Menu, k: int, start: int, stop: int
) -> tuple[int, np.ndarray]:
    """The first pair of users start … stop - 1, and (p, R, G, R) uint8 counts of their pairs.

    Entry [p, r, g', r'] says how many items of group g' under row r' outrank pair p's item under
    row r, at most k. In its own group only r' = r can happen; the rest stays 0.
    """
    some = np.arange(start, stop)
    seen, relevant = asked.seen.rows(some), asked.relevant.rows(some)
    bounds, G, R = scores.bounds, len(scores.bounds) - 1, menu.n_rows
    groups = np.searchsorted(bounds, relevant.items, side="right") - 1

    def there(numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers.astype(np.int64)).to(scores.device)

    own = torch.empty((len(groups), R), device=scores.device)
    within = torch.empty((len(groups), R), dtype=torch.int64, device=scores.device)
    best = torch.full((stop - start, G, R, k), -torch.inf, device=scores.device)  # ascending
    for g in range(G):
        lo, hi = int(bounds[g]), int(bounds[g + 1])
        hidden = (seen.items >= lo) & (seen.items < hi)
        hide_users, hide_items = there(seen.users[hidden]), there(seen.items[hidden] - lo)
        mine = np.flatnonzero(groups == g)
        at, users, items = (
            there(x) for x in (mine, relevant.users[mine], relevant.items[mine] - lo)
        )
        S = torch.empty((stop - start, hi - lo), device=scores.device)
        top = min(k, hi - lo)
        for r in range(R):
            scores.write(S, g, menu.depths[r], int(menu.neighbours[r]), start, stop)
            S[hide_users, hide_items] = -torch.inf
            own[at, r], within[at, r] = _within(S, users, items)
            if top:
                best[:, g, r, k - top :] = best_scores(S, top)
    pairs, own_groups = there(np.arange(len(groups))), there(groups)
    counts = _across(best, own, own_groups, relevant.indptr)
    counts[pairs, :, own_groups] = 0
    never = own == -torch.inf  # (p, R)
    counts[never] = 0
    inside = within.clamp(max=k).masked_fill(never, k).to(torch.uint8)
    for r in range(R):
        counts[pairs, r, own_groups, r] = inside[:, r]
    return int(asked.relevant.indptr[start]), counts.cpu().numpy()


def _within(S: Tensor, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
    """(p,) own scores of pairs in S (u, |V_g|), and how many items of the group outrank each."""
    rows = S[users]  # (p, |V_g|)
    own = rows.gather(1, items[:, None])
    lower = torch.arange(S.shape[1], device=S.device) < items[:, None]
    above = (rows > own) | ((rows == own) & lower)
    return own.squeeze(1), above.sum(dim=1)


def _across(best: Tensor, own: Tensor, groups: Tensor, indptr: np.ndarray) -> Tensor:
    """(p, R, G, R) uint8: how many of each group's best scores under each row outrank own (p, R).

    Groups are ranges of items, so at equal score every item of a lower group comes first: there the
    mark is the next smaller number.
    """
    _, G, R, k = best.shape
    counts = torch.empty((len(own), R, G, R), dtype=torch.uint8, device=best.device)
    below = torch.nextafter(own, torch.full_like(own, -torch.inf))
    numbers = torch.arange(G, device=best.device)[:, None, None]
    for u, (first, end) in enumerate(pairwise(indptr.tolist())):
        lower = numbers < groups[None, first:end, None]  # (G, c, 1)
        marks = torch.where(lower, below[None, first:end], own[None, first:end])  # (G, c, R)
        every_row = marks.reshape(G, 1, -1).repeat(1, R, 1)
        found = torch.searchsorted(best[u], every_row, right=True, out_int32=True)  # (G, R', c·R)
        above = (k - found).to(torch.uint8).view(G, R, end - first, R)
        counts[first:end] = above.permute(2, 3, 0, 1)
    return counts
