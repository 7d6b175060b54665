"""Ways to code items beside each other: the same table, searched and packed by other commits.

    python -m experiments.table2 run --dataset gowalla --methods ours --seeds 1 --data local \
        --choose local/last --config experiments/configs/table2-late.toml \
        --experiment table2-words
    python -m experiments.codings draw

The first command is run in a checkout of each commit; lines hold the commit that they are of, and
those of all checkouts stand in one file. Trainings on one CPU are equal bit by bit, so one may be
copied from checkout to checkout. A coding that is not in the tree is in the history.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from experiments import lines
from experiments.command import make_app
from experiments.comparison import SIZES, word_of
from experiments.paper import METRICS
from experiments.tasks import PERSON

EXPERIMENT = "table2-words"
app = make_app(__doc__)


@app.command()
def draw() -> None:
    """Print what each commit's coding brought against the first one's."""
    print(table())


def table(results: Path | None = None) -> str:
    """Metrics of the first commit at every size, then what the others have more, in per cent."""
    rows = [
        f"| commit | data set | {' | '.join(word_of(metric) for metric in METRICS)} |",
        "|---|---|" + "---|" * len(METRICS),
    ]
    for dataset, by_commit in by_data_set(results or lines.RESULTS).items():
        (first, usual), *others = by_commit.items()
        cells = [" ".join(f"{usual[mb][metric]:.4f}" for mb in usual) for metric in METRICS]
        rows.append(f"| {first} | {dataset} | {' | '.join(cells)} |")
        for commit, found in others:
            shared = [mb for mb in usual if mb in found]
            cells = [
                " ".join(f"{found[mb][metric] / usual[mb][metric] - 1:+.1%}" for mb in shared)
                for metric in METRICS
            ]
            rows.append(f"| {commit} | {dataset} | {' | '.join(cells)} |")
    return "\n".join(rows)


def by_data_set(results: Path) -> dict[str, dict[str, dict[float, dict[str, Any]]]]:
    """Metrics by data set, commit (the first seven digits) and size; commits as they came."""
    out = defaultdict[str, dict[str, dict[float, dict[str, Any]]]](dict)
    for line in lines.read_from(results, EXPERIMENT, key=(*lines.KEY, "commit")):
        if line["person"] == PERSON and float(line["nominal_mb"]) in SIZES:
            found = out[line["dataset"]].setdefault(line["commit"][:7], {})
            found[float(line["nominal_mb"])] = line["metrics"]
    return dict(out)


if __name__ == "__main__":
    app()
