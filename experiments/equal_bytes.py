"""Budgets of equal bytes per item: what "5 MB" means on a data set smaller than the paper's.

A nominal size is one of Amazon-Book (91,599 items); another data set is granted as many bytes per
item. Yelp2018 stands in for the paper's Yelp2020 (105,843 items), so it takes the bytes per item
that the same megabytes grant there.
"""

from __future__ import annotations

from elasticrec.space.budget import Budget

AMAZON_ITEMS, YELP2020_ITEMS = 91_599, 105_843
PRINTED = (5, 10, 25)
"""The paper's sizes, in megabytes."""
SMALL = (1, 2)
"""Sizes the paper does not have, for methods that can use them."""
TINY = (0.25, 0.5)
"""Sizes below the table's, for the picture of quality against size."""


def budget_for(dataset: str, nominal_mb: float, n_items: int) -> Budget:
    """The budget that a nominal size grants a data set of so many items."""
    printed = YELP2020_ITEMS if dataset == "yelp2018" else AMAZON_ITEMS
    return Budget(round(nominal_mb * 1e6 / printed * n_items))
