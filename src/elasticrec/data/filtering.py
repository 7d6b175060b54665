"""Filtering: leave out users and items with too few interactions."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.errors import InputError

log = logging.getLogger(__name__)

MIN_INTERACTIONS = (10, 5, 2)
"""Limits tried one after the other; the first is the paper's."""
LEAST_KEPT = 0.5
"""Share of the interactions that must stay for the first limits to be taken."""
ROUNDS_SHOWN = 3
"""Filter rounds that get a log line each; one more line counts the others."""

Round = tuple[int, int, int]
"""Users left out, items left out, and interactions that stay."""


def keep_frequent(interactions: Interactions, least: int | None = None) -> Interactions:
    """The largest part in which every user and every item has enough interactions.

    Leaving out an item may bring a user below the limit and the other way round, so this is
    repeated until nothing changes. Those left are renumbered in the same order. The effect of
    each round is logged.

    Args:
        least: smallest number per user and per item; where not given, the first of 10, 5 and 2
            that keeps at least half of the interactions.
    """
    pairs, name = interactions.pairs, interactions.name
    for tried in MIN_INTERACTIONS if least is None else (least,):
        kept, rounds = _core(pairs, tried)
        if least is not None or len(kept) >= LEAST_KEPT * len(pairs):
            break
        share = 100 * len(kept) / max(len(pairs), 1)
        log.info("%s: at least %d per user and item keeps %.0f %%", name, tried, share)
    if not len(kept):
        raise InputError(
            f"{name}: nothing is left after filtering, expected users and items with at least "
            f"{tried} interactions (most found: {pairs.per_user.max(initial=0)} per user, "
            f"{pairs.per_item.max(initial=0)} per item)"
        )
    _log_rounds(interactions, rounds, tried)
    return _restricted(interactions, kept)


def _core(pairs: Pairs, least: int) -> tuple[np.ndarray, list[Round]]:
    """Places of the pairs whose user and item have enough of them, and the rounds it took."""
    kept, users, items = np.arange(len(pairs)), pairs.users, pairs.items
    rounds: list[Round] = []
    while len(kept):
        rare_user = np.bincount(users, minlength=pairs.n_users)[users] < least
        rare_item = np.bincount(items, minlength=pairs.n_items)[items] < least
        enough = ~(rare_user | rare_item)
        if enough.all():
            break
        left_out = len(np.unique(users[rare_user])), len(np.unique(items[rare_item]))
        kept, users, items = kept[enough], users[enough], items[enough]
        rounds.append((*left_out, len(kept)))
    return kept, rounds


def _log_rounds(whole: Interactions, rounds: list[Round], least: int) -> None:
    """Log the users, items and interactions that each round leaves out."""
    shown = [(f"round {number + 1}", [one]) for number, one in enumerate(rounds[:ROUNDS_SHOWN])]
    if rest := rounds[ROUNDS_SHOWN:]:
        shown.append((f"{len(rest)} more", rest))
    before = len(whole.pairs)
    for label, some in shown:
        users, items = sum(one[0] for one in some), sum(one[1] for one in some)
        log.info(
            "filter at %d (%s): leaves out %s users, %s items, %s interactions",
            least, label, f"{users:,}", f"{items:,}", f"{before - some[-1][2]:,}",
        )  # fmt: skip
        before = some[-1][2]


def _restricted(interactions: Interactions, kept: np.ndarray) -> Interactions:
    """Only the pairs at `kept`, and only their users and items, renumbered in order."""
    whole = interactions.pairs
    old_users, new_users = np.unique(whole.users[kept], return_inverse=True)
    old_items, new_items = np.unique(whole.items[kept], return_inverse=True)
    log.info(
        "%s: kept %s of %s users, %s of %s items, %s of %s interactions", interactions.name,
        f"{len(old_users):,}", f"{np.count_nonzero(whole.per_user):,}",
        f"{len(old_items):,}", f"{np.count_nonzero(whole.per_item):,}",
        f"{len(kept):,}", f"{len(whole):,}",
    )  # fmt: skip
    pairs = Pairs.from_arrays(
        new_users,
        new_items,
        n_users=len(old_users),
        n_items=len(old_items),
        order=None if whole.order is None else whole.order[kept],
    )
    return replace(
        interactions,
        pairs=pairs,
        user_ids=interactions.user_ids.take(old_users),
        item_ids=interactions.item_ids.take(old_items),
        times=None if interactions.times is None else interactions.times[kept],
        titles=None if interactions.titles is None else interactions.titles[old_items],
    )
