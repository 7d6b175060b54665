"""What the paper prints: its table of results, to stand beside ours.

    python -m experiments.paper read rule-kdd21.tex

reads that table from the paper's source and writes `paper_table2.json`, which is committed.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import typer

from experiments.command import make_app

KEPT = Path(__file__).parent / "paper_table2.json"
SIZES = (5, 10, 25)
METRICS = ("recall@50", "recall@100", "ndcg@50", "ndcg@100")
METHODS = {
    "PMF": "pmf",
    "LightGCN": "lightgcn",
    "ESAPN": "esapn",
    "AutoEmb": "autoemb",
    "DLRM-CE": "dlrm-ce",
    "LightRec": "lightrec",
    "RULE": "rule",
}
"""The table's names, and ours."""
DATASETS = {"Amazon-Book": "amazon-book", "Yelp2020": "yelp2020"}
STAND_INS = {"amazon-book": "amazon-book", "yelp2018": "yelp2020"}
"""The data set of the paper beside which one of ours stands."""
SLIPS = {
    ("yelp2020", "pmf", "10", "recall@50"),
    ("yelp2020", "pmf", "25", "recall@50"),
    ("yelp2020", "autoemb", "10", "recall@50"),
}
"""Cells that are ten times too high by every other number around them."""
app = make_app(__doc__)

Cells = dict[str, dict[str, float]]
"""A row's values by size and metric."""


@app.command()
def read(source: Annotated[Path, typer.Argument(help="The paper's .tex file.")]) -> None:
    """Write the printed table as JSON."""
    found = parse(source.read_text(encoding="utf-8"))
    plain = [{"dataset": d, "method": m, "cells": cells} for (d, m), cells in found.items()]
    KEPT.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    print(f"{len(plain)} rows of {len(SIZES) * len(METRICS)} cells")


def parse(tex: str) -> dict[tuple[str, str], Cells]:
    """The rows of the table of results, by data set and method."""
    body = tex[tex.index(r"\caption{Recommendation results") :]
    body = body[: body.index(r"\end{table*}")]
    rows, dataset = {}, ""
    for line in body.splitlines():
        for name, word in DATASETS.items():
            if rf"{{*}}{{{name}}}" in line:
                dataset = word
        plain = re.sub(r"\\textbf\{([^}]*)\}", r"\1", line)
        fields = [field.strip(" \\") for field in plain.split("&")]
        if len(fields) != 2 + len(SIZES) * len(METRICS) or fields[1] not in METHODS:
            continue
        values = iter(map(float, fields[2:]))
        cells = {str(mb): {metric: next(values) for metric in METRICS} for mb in SIZES}
        rows[dataset, METHODS[fields[1]]] = cells
    return rows


@lru_cache(maxsize=1)
def table2() -> dict[tuple[str, str], Cells]:
    """The printed table, by data set and method."""
    return {
        (row["dataset"], row["method"]): row["cells"]
        for row in json.loads(KEPT.read_text(encoding="utf-8"))
    }


def printed(dataset: str, method: str, nominal_mb: float, metric: str) -> float | None:
    """A cell beside which one of ours stands, or None; `rule-…` and `ours` stand beside RULE."""
    word = "rule" if method.startswith("rule") or method == "ours" else method
    row = table2().get((STAND_INS.get(dataset, ""), word), {})
    return row.get(f"{nominal_mb:g}", {}).get(metric)


if __name__ == "__main__":
    app()
