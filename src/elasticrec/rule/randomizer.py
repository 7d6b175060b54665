"""Random compositions within a budget: Alg. 1 over free blocks, and our own draw over menu rows.

The paper leaves "draw s_g from N over integers" open: a normal number is rounded and clipped.
Draw i depends on (seed, i) alone, so any number of processes draws the same set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from elasticrec.errors import InputError
from elasticrec.space.budget import Accounting, Budget
from elasticrec.space.composition import F32, Menu
from elasticrec.space.ladder import Ladder, pick
from elasticrec.space.planning import draw_planned

SHARE_SIGMA = 1.0
"""Spread of our log-normal shares."""
NEARNESS = 0.1
"""How near totals are to a budget step: the standard deviation of their logarithm."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Random compositions, one per number asked for."""

    depths: np.ndarray
    """(B, G, N) uint8."""
    neighbours: np.ndarray
    """(B, G) uint8."""
    totals: np.ndarray
    """(B,) int64 what each was drawn to spend: blocks (Alg. 3), or bytes."""
    choices: np.ndarray | None = None
    """(B, G) rows of the menu they were composed from; None for free blocks."""


def generator(seed: int, number: int) -> np.random.Generator:
    """The stream of draw `number`, whoever draws it."""
    return np.random.default_rng((seed, number))


def draw_counts(
    ladder: Ladder, allowance: int, rng: np.random.Generator, *, printed: bool = False
) -> np.ndarray:
    """(G,) rows of a ladder of counts within an allowance: Alg. 1, lines 4 to 13, then topped up.

    The mean is M/G; the printed M/(G·|V_g|) would give every group one block at every budget.

    Args:
        ladder: `Ladder.of_counts`.
        allowance: bytes, at least the ladder's smallest.
        printed: do not top up: such draws under-spend.
    """
    G, R = ladder.costs.shape
    least = ladder.costs[:, 0]
    spare = allowance - int(least.sum())
    per_block = (ladder.costs[:, -1] - least).sum() / (G * max(R - 1, 1))  # of a mean group
    mu = int(spare / per_block + 1e-9) / G if R > 1 else 0.0  # whole blocks above the least
    highest = (ladder.costs - least[:, None] <= spare).sum(axis=1) - 1  # min(N, M - G + 1)
    drawn = np.rint(rng.normal(mu, 1.0, size=G))
    rows: np.ndarray = np.clip(drawn, 0, highest).astype(np.int64)
    left = ladder.repair(rows, allowance - int(ladder.cost(rows).sum()), rng)
    if not printed:
        ladder.top_up(rows, left, rng)
    return rows


def random_blocks(counts: np.ndarray, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
    """(G, N) bool: so many blocks of each group, every subset equally likely (Alg. 1, l. 15)."""
    ranks = rng.random((len(counts), n_blocks)).argsort(axis=1).argsort(axis=1)
    kept: np.ndarray = ranks < counts[:, None]
    return kept


def draw_rows(ladder: Ladder, allowance: int, rng: np.random.Generator) -> np.ndarray:
    """(G,) rows of a menu within an allowance: our own draw, topped up.

    The bytes are shared log-normally, in half of the draws the larger shares to the earlier (more
    popular) groups. A group takes one of the largest rows that its share pays for, its cheapest
    row at least; what is left over goes to the groups farthest below their shares.
    """
    G, R = ladder.costs.shape
    shares = np.exp(rng.normal(0.0, SHARE_SIGMA, size=G))
    if rng.random() < 0.5:
        shares = -np.sort(-shares)
    least, most = ladder.cost(ladder.cheapest), ladder.cost(ladder.dearest)
    granted = _shared(shares, least, most, allowance)
    fits = (ladder.costs <= granted[:, None]) & ladder.allowed  # (G, R)
    grows = fits.astype(np.float32) @ ladder.up_steps.T.astype(np.float32) > 0
    largest = fits & ~grows
    rows: np.ndarray = np.where(largest, rng.random((G, R)), -1.0).argmax(axis=1)
    left = ladder.repair(rows, allowance - int(ladder.cost(rows).sum()), rng)
    ladder.top_up_towards(rows, left, granted, rng)
    return rows


def _shared(shares: np.ndarray, least: np.ndarray, most: np.ndarray, total: int) -> np.ndarray:
    """(G,) bytes in proportion to shares, but none below its least or above its most.

    They are clip(λ·share, least, most) with the λ for which they add up to the total; the sum is
    piecewise linear in λ, so it is found between the points where a group meets a bound.
    """
    knots = np.sort(np.concatenate([least / shares, most / shares]))
    sums = np.clip(knots[:, None] * shares, least, most).sum(axis=1)  # (2G,)
    scale = np.interp(total, sums, knots)
    return np.asarray(np.clip(scale * shares, least, most))


def draw_free(
    numbers: Iterable[int],
    *,
    seed: int,
    n_groups: int,
    n_blocks: int,
    accounting: Accounting | None = None,
    budget: Budget | None = None,
    printed: bool = False,
) -> Drawn:
    """Free subsets of f32 blocks (Alg. 1), each at least one block per group.

    Args:
        numbers: which draws.
        accounting: prices blocks in bytes; needed with a budget.
        budget: what each may spend; None draws a total in blocks, uniform over G … N·G (Alg. 3).
        printed: Alg. 1 without top-up.
    """
    if (budget is None) != (accounting is None):
        raise InputError("a budget needs an accounting, and an accounting a budget")
    if accounting is None or budget is None:
        ladder, allowance = _ladder_of_blocks(n_groups, n_blocks), None
    else:
        ladder = Ladder.of_counts(n_blocks, accounting)
        allowance = ladder.allowance(budget)

    def one(rng: np.random.Generator) -> tuple[np.ndarray, int]:
        total = allowance
        if total is None:
            total = int(rng.integers(n_groups, n_blocks * n_groups + 1))
        rows = draw_counts(ladder, total, rng, printed=printed)
        counts = (ladder.menu.depths[rows] > 0).sum(axis=1)
        return random_blocks(counts, n_blocks, rng), total + ladder.fixed_bytes

    masks, totals = _stacked(one, numbers, seed, (n_groups, n_blocks))
    return Drawn(
        depths=(masks * F32).astype(np.uint8),
        neighbours=np.zeros(masks.shape[:2], dtype=np.uint8),
        totals=totals,
    )


def _ladder_of_blocks(n_groups: int, n_blocks: int) -> Ladder:
    """A ladder of counts on which every block costs one."""
    prices = np.tile(np.arange(1, n_blocks + 1), (n_groups, 1))
    return Ladder(Menu.f32_prefixes(np.arange(n_blocks)), prices)


def draw_shares(
    numbers: Iterable[int],
    *,
    seed: int,
    accounting: Accounting,
    menu: Menu,
    budgets: Sequence[Budget],
    planned: float = 0.0,
) -> Drawn:
    """Compositions of menu rows by log-normal shares, their totals near the budget steps.

    Args:
        numbers: which draws.
        budgets: the steps; each draw takes one of them times exp(normal(0, `NEARNESS`)), kept
            between the smallest and the full size.
        planned: the share of draws that `space.planning` makes instead.
    """
    if not budgets:
        raise InputError("no budget steps, expected at least one to draw near to")
    ladder = Ladder.of(menu, accounting)

    def one(rng: np.random.Generator) -> tuple[np.ndarray, int]:
        step = budgets[pick(rng, len(budgets))].n_bytes
        near = int(step * np.exp(rng.normal(0.0, NEARNESS)))
        total = min(max(near, ladder.smallest_bytes), ladder.full_bytes)
        draw = draw_planned if planned and rng.random() < planned else draw_rows
        return draw(ladder, total - ladder.fixed_bytes, rng), total

    choices, totals = _stacked(one, numbers, seed, (ladder.n_groups,))
    choices = choices.astype(np.int64)
    return Drawn(menu.depths[choices], menu.neighbours[choices], totals, choices)


def _stacked(
    one: Callable[[np.random.Generator], tuple[np.ndarray, int]],
    numbers: Iterable[int],
    seed: int,
    shape: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """What `one` gives for each number's own generator, stacked, and the totals."""
    drawn = [one(generator(seed, number)) for number in numbers]
    rows = np.array([row for row, _ in drawn]).reshape(len(drawn), *shape)
    return rows, np.array([total for _, total in drawn], dtype=np.int64)
