"""Interactions: user-item pairs as a reader gives them, and the original ids behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.data.pairs import Pairs
from elasticrec.data.spool import Spool, in_ranges

__all__ = ["Ids", "Interactions", "Pairs"]


@dataclass(frozen=True)
class Interactions:
    """The output of a reader: pairs, the ids behind them, times and titles where known."""

    pairs: Pairs
    """The interactions in dense numbers, in order where the source has one."""
    user_ids: Ids
    """(U,) original ids of the users."""
    item_ids: Ids
    """(V,) original ids of the items."""
    times: np.ndarray | None = None
    """(n,) int64 parallel to `pairs.items`: when each pair first happened."""
    titles: np.ndarray | None = None
    """(V,) object array of str: one title per item, "" where unknown."""
    name: str = "data"
    """The name of the data in results and messages."""

    def __repr__(self) -> str:
        counts = f"{len(self.user_ids):,} users, {len(self.item_ids):,} items"
        return f"Interactions({self.name!r}, {counts}, {len(self.pairs):,} interactions)"

    @classmethod
    def of_columns(
        cls,
        users: np.ndarray,
        items: np.ndarray,
        user_ids: Ids,
        item_ids: Ids,
        *,
        times: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        ordered: bool = False,
        name: str = "data",
    ) -> Interactions:
        """Interactions of parallel dense numbers; of duplicates the earliest stays.

        Args:
            times: order the items of a user; equal times go by item number.
            weights: above 0; those of duplicates add up.
            ordered: without times, the arrays run from old to new.
        """
        firsts = Spool(np.int64)

        def parts() -> Iterator[Pairs]:
            columns = [each for each in (users, items, times, weights) if each is not None]
            for span, (own, chosen, *beside) in in_ranges(columns, len(user_ids)):
                weighing = None if weights is None else beside.pop()
                part = Pairs.from_arrays(
                    own - span.start, chosen, n_users=span.stop - span.start, n_items=len(item_ids),
                    order=beside[0] if beside else np.arange(len(own)) if ordered else None,
                    weights=weighing,
                )  # fmt: skip
                if part.order is not None:
                    firsts.add(part.order)
                    part = replace(part, order=part.rank(part.order))
                yield part

        pairs = Pairs.joined(parts(), len(item_ids))
        first = None if times is None else firsts.array()
        return cls(pairs, user_ids, item_ids, times=first, name=name)
