"""Writes docs/results.md from the committed result lines; `--check` fails where it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments import bases, search
from scripts.pages import keep

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results.md"

INTRODUCTION = """# Results

Written by `make docs` from `experiments/results/*.jsonl`; every number is the mean of lines that
the commands in [experiments](../experiments/README.md) appended, tuned on validation and measured
on test. Amazon-Book is the published split with 88.4 % of its train interactions known; its test is
whole.
"""

BASES = """## Bases at full size

Recall and NDCG on test over all items, train and validation items masked; mean ± deviation over
seeds.
"""

SEARCH = """## Does the search pay?

Compositions of whole float32 blocks from one trained table, at Amazon-Book's bytes per item for 5,
10 and 25 MB, counted as the paper counts (vectors only). The lead is the mean paired difference on
test between the search and the control, its deviation that of the differences over seeds.
`greedy-measured` climbs by real evaluation on validation; its seconds include counting for its
evaluator.
"""


def render() -> str:
    """The whole page."""
    parts = [INTRODUCTION, BASES, bases.table(), "", SEARCH, search.table(), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(keep(PAGE, render))
