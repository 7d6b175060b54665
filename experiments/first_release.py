"""The first release's rivals on test, and the table that the paper prints, to read beside them.

    python -m experiments.first_release draw

`results/first-release.jsonl` holds the lines of trained rivals, and of three that are measured anew
by `table2`, with the settings and the code of the first release. Its own rows are retired: their
format is gone. Sizes are
Amazon-Book's megabytes; Gowalla has as many bytes per item, Yelp2018 those of the paper's Yelp2020.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from experiments import lines, tables
from experiments.baselines import BASELINES
from experiments.command import make_app

EXPERIMENT = "first-release"
PRINTED = Path(__file__).parent / "paper_table2.json"
SIZES = (1, 2, 5, 10, 25)
METHODS = (*BASELINES, "faiss-pq", "itemcf", "sparse-linear")
PRINTED_SIZES = (5, 10, 25)
METRICS = ("recall@50", "recall@100", "ndcg@50", "ndcg@100")
SLIPS = {
    ("yelp2020", "pmf", "10", "recall@50"),
    ("yelp2020", "pmf", "25", "recall@50"),
    ("yelp2020", "autoemb", "10", "recall@50"),
}
"""Cells that are ten times too high by every other number around them."""
app = make_app(__doc__)

Cells = dict[str, dict[str, float]]
"""A row's values by size and metric."""


@lru_cache(maxsize=1)
def printed() -> dict[tuple[str, str], Cells]:
    """The paper's table, by data set and method."""
    rows = json.loads(PRINTED.read_text(encoding="utf-8"))
    return {(row["dataset"], row["method"]): row["cells"] for row in rows}


def rivals(metric: str = "recall@50") -> str:
    """The rivals' means over seeds ± deviation, by data set, method and size."""
    found, rows = lines.read(EXPERIMENT), []
    for dataset in tables.datasets(found):
        for method in METHODS:
            for loss in BASELINES[method].losses if method == "pmf" else ("",):
                mine = [
                    x for x in found
                    if lines.holds([x], dataset=dataset, method=method) and loss in ("", x["loss"])
                ]  # fmt: skip
                by_size = {mb: [x for x in mine if x["nominal_mb"] == mb] for mb in SIZES}
                shown = [tables.shown(by_size[mb], metric) for mb in SIZES]
                if mine:
                    name = method + {"paper": ", its loss", "ours": ", our loss"}.get(loss, "")
                    rows.append([tables.title(dataset), name, mine[0]["person"], *shown])
    return tables.table(["data set", "method", "known of a user", *map(str, SIZES)], rows)


def paper() -> str:
    """Recall as the paper prints it, slips marked."""
    rows = []
    for (dataset, method), cells in printed().items():
        values = [
            f"{cells[str(mb)][metric]:.4f}"
            + ("*" if (dataset, method, str(mb), metric) in SLIPS else "")
            for metric in METRICS[:2]
            for mb in PRINTED_SIZES
        ]
        rows.append([dataset, method, *values])
    heads = [f"{metric} {mb}" for metric in METRICS[:2] for mb in PRINTED_SIZES]
    return tables.table(["data set", "method", *heads], rows)


@app.command()
def draw() -> None:
    """Print both tables."""
    print(rivals())
    print(paper())


if __name__ == "__main__":
    app()
