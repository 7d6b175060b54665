"""The table of `experiments.sizes`: each method at each size, of the newest model."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from experiments import lines

NOMINAL = (0.25, 0.5, 1, 1.83, 2, 3, 5, 10, 25)
"""Megabytes on Amazon-Book; other data sets get as many bytes per item. 1.83 MB are 20 bytes."""
FULL = "full"


def table(metric: str = "recall@50") -> str:
    """Each method at each size, as a Markdown table: one column per size, mean over seeds.

    Of each data set the newest model counts, and of each size its newest line of a seed.
    """
    found: dict[tuple[str, str, str], dict[Any, dict[int, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    every = lines.read("sizes")
    newest = {line["dataset"]: model_of(line) for line in every}
    for line in every:
        if model_of(line) != newest[line["dataset"]]:
            continue  # of a model measured before
        method = line["method"] + (" with ids" if line.get("ids") not in (None, "none") else "")
        size = line["nominal_mb"] or FULL
        of_seeds = found[line["dataset"], method, line["person"]][size]
        of_seeds[line["seed"]] = line["metrics"][metric]
    sizes = [*NOMINAL, FULL]
    heads = [f"{size} MB" if size != FULL else "full, f32" for size in sizes]
    rows = [
        f"| data set | {metric} | person | " + " | ".join(heads) + " |",
        "|---|---|---|" + "---|" * len(sizes),
    ]
    for (dataset, method, person), values in sorted(found.items(), key=lambda each: _order(*each)):
        means = {size: np.mean(list(seeds.values())) for size, seeds in values.items()}
        cells = [f"{means[size]:.4f}" if size in means else "–" for size in sizes]
        rows.append(f"| {dataset} | {method} | {person} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def model_of(line: dict[str, Any]) -> str:
    """What names the model of a line, and the users it was measured on."""
    return lines.config_hash({k: line["config"].get(k) for k in ("model", "space", "test_users")})


def _order(key: tuple[str, str, str], _: Any) -> tuple[str, bool, str, str]:
    """Ours first within a data set."""
    dataset, method, person = key
    return dataset, not method.startswith("ours"), method, person
