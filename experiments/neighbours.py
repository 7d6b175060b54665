"""Neighbours alone: how well votes of a history rank, by source, settings and slots.

    python -m experiments.neighbours run --data local/late
    python -m experiments.neighbours draw

`run` makes each trial's lists from train and ranks validation by the votes of their first 1, 2, 4,
8 and 16 slots, as they are stored (weights on fifteen levels). It never looks at test. Validation
of a late split (`experiments.holdout`) is what settings are chosen by.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from elasticrec.data.splitting import Split
from elasticrec.evaluation.metrics import recall_at
from experiments import lines
from experiments.command import make_app

if TYPE_CHECKING:
    from elasticrec.compression.neighbours import Neighbours

METRICS = ("recall@20", "recall@50")
SLOTS = (1, 2, 4, 8, 16)
METHODS = {"cooccurrence": "itemcf", "linear": "sparse-linear"}
"""Sources, and what result lines call them."""
TRIALS: tuple[dict[str, Any], ...] = (
    {"source": "cooccurrence", "user_power": 0.0, "voter_power": 0.5, "target_power": 0.5},
    {"source": "cooccurrence"},
    {"source": "linear"},
    {"source": "linear", "ridge": 20.0},
    {"source": "linear", "target_power": 0.0},
    {"source": "linear", "target_power": 0.4},
)
"""What is tried: a source, and settings of it that are not its defaults."""
app = make_app(__doc__)


@app.command()
def run(
    data: Annotated[Path, typer.Option(help="Folder of prepared splits.")],
    only: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "",
    source: Annotated[str, typer.Option(help="Try this source alone.")] = "",
    defaults: Annotated[bool, typer.Option(help="Try default settings alone.")] = False,
    users: Annotated[int, typer.Option(help="Validation users, seeded.")] = 3_000,
) -> None:
    """Measure every trial on every data set, and append one line for each number of slots."""
    trials = [t for t in TRIALS if source in ("", t["source"]) and not (defaults and len(t) > 1)]
    for name in only.split(",") if only else ("gowalla", "yelp2018", "amazon-book"):
        split = by_popularity(Split.load(data / f"{name}.npz"))
        for trial in trials:
            started = time.monotonic()
            lists, settings = make(split, trial)
            seconds = time.monotonic() - started
            found = {slots: measure(lists, split, slots, users) for slots in SLOTS}
            for slots, metrics in found.items():
                where = {"holdout": data.name, "users": users, "slots": slots}
                _append(name, split, trial, settings | where, metrics, seconds)
            said = "  ".join("{:.4f}/{:.4f}".format(*m.values()) for m in found.values())
            print(f"{name} {label(trial)}: {said} ({seconds:.0f} s)", flush=True)


def label(trial: dict[str, Any]) -> str:
    """A trial in words."""
    changed = [f"{name} {value:g}" for name, value in trial.items() if name != "source"]
    return f"{trial['source']}, {', '.join(changed) or 'default'}"


def by_popularity(split: Split) -> Split:
    """The split with items numbered by falling popularity, as a model numbers them: ties go so."""
    return split.renumbered(np.argsort(-split.train.per_item, kind="stable"))


def make(split: Split, trial: dict[str, Any]) -> tuple[Neighbours, dict[str, Any]]:
    """The lists of a trial, and all settings they were made with."""
    from elasticrec.compression.linear import LinearConfig
    from elasticrec.compression.neighbours import (
        CooccurrenceConfig,
        cooccurrence_neighbours,
        linear_neighbours,
    )

    given = {name: value for name, value in trial.items() if name != "source"}
    if trial["source"] == "linear":
        linear = LinearConfig(**given)
        return linear_neighbours(split.train, config=linear), asdict(linear)
    counted = CooccurrenceConfig(**given)
    return cooccurrence_neighbours(split.train, config=counted), asdict(counted)


def measure(lists: Neighbours, split: Split, slots: int, n_users: int) -> dict[str, float]:
    """Recall on validation of what histories vote for with some slots of each list."""
    everyone = np.flatnonzero(split.validation.per_user)
    users = np.sort(np.random.default_rng(0).permutation(everyone)[:n_users])
    totals = dict.fromkeys(METRICS, 0.0)
    for start in range(0, len(users), 256):
        batch = users[start : start + 256]
        histories = split.train.rows(batch)
        votes = lists.votes(histories.csr(), slots, 0, split.n_items)
        for row, user in enumerate(batch):
            relevant = split.validation.of(user).tolist()
            listed = shown(votes[row], histories.of(row), 50).tolist()
            for name in METRICS:
                totals[name] += recall_at(int(name.partition("@")[2]), listed, relevant)
    return {name: total / len(users) for name, total in totals.items()}


def shown(votes: np.ndarray, seen: np.ndarray, k: int) -> np.ndarray:
    """The k unseen items with most votes, then the most popular without any; ties by number."""
    votes[seen] = 0
    voted = np.flatnonzero(votes)
    best = voted[np.lexsort((voted, -votes[voted]))[:k]]
    if len(best) == k:
        return best
    first = np.arange(min(len(votes), k + len(voted) + len(seen)))
    others = first[~np.isin(first, voted) & ~np.isin(first, seen)]
    return np.concatenate([best, others])[:k]


def _append(
    name: str, split: Split, trial: dict[str, Any], config: dict[str, Any],
    metrics: dict[str, float], seconds: float,
) -> None:  # fmt: skip
    lines.append(
        "neighbours",
        {
            "dataset": name,
            "split": split.kind,
            "method": METHODS[trial["source"]],
            "person": "history",
            "seed": 0,
            "metrics": metrics,
            "seconds": round(seconds, 1),
            "config": config,
            "label": label(trial),
            "part": "validation",
        },
    )


@app.command()
def draw(metric: str = "recall@50") -> None:
    """Print what `run` measured as a Markdown table, one row per trial."""
    print(f"| data set | validation | neighbours | {' | '.join(map(str, SLOTS))} slots |")
    print("|---|---|---|" + "---|" * len(SLOTS))
    rows: dict[tuple[str, str, str], dict[int, float]] = {}
    for line in lines.read("neighbours"):
        key = (line["dataset"], line["config"]["holdout"], line["label"])
        rows.setdefault(key, {})[line["config"]["slots"]] = line["metrics"][metric]
    for key, values in rows.items():
        cells = [f"{values[slots]:.4f}" if slots in values else "" for slots in SLOTS]
        print(f"| {' | '.join([*key, *cells])} |")


if __name__ == "__main__":
    app()
