"""Splits to tune on: validation that lies later than train, as the published test parts do.

    python -m experiments.holdout make DATA/gowalla/train.txt.gz local/gowalla.npz \
        -o local/late/gowalla.npz
    python -m experiments.holdout make DATA/amazon-book/train_known.txt.gz local/amazon-book.npz \
        --inferred -o local/late/amazon-book.npz
    python -m experiments.holdout make DATA/gowalla/train.txt.gz local/gowalla.npz \
        --users 5000 -o local/last/gowalla.npz
    python -m experiments.holdout make DATA/gowalla/train.txt.gz local/gowalla.npz \
        --rehearsal -o local/rehearsal/gowalla.npz

The published splits are no random ones. Items of a train line stand in the order in which they were
taken, and the later an item tends to stand there, the larger is its share in test: so test is what
came last. A random validation shares its time with train, scores up to twice as high as test, and
prefers other settings. `make` holds out the last eighth of every line instead; with `--users` that
of so many users' lines, and the test part stays: a split to train on and to report.

Amazon-Book's lines are sorted, so their order is lost. But items were numbered as they first
occurred, user after user: among the items that one user brought in, numbers rise with time.
`--inferred` learns from these runs how early or late an item is (ridge regression on singular
vectors of train), prints how well that predicts runs left out, and sorts every line by it.

`--rehearsal` makes another whole split of train alone: its test is everyone's last eighth, and its
validation is taken from what is left as from any published train, or by `--users`. What is to be
decided for a table's test can be decided there, by the same command.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.splitting import Split, published_split
from experiments.command import make_app

SHARE = 8
"""One pair of so many is held out."""
DIMENSIONS = 96
RIDGE = 10.0
SHORTEST_RUN = 4
app = make_app(__doc__)


@app.command()
def make(
    raw: Annotated[Path, typer.Argument(help="The published train lines, gzip.")],
    source: Annotated[Path, typer.Argument(help="The prepared split of the same data.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write the tuning split.")],
    inferred: Annotated[
        bool, typer.Option("--inferred", help="Lines are sorted: infer the order.")
    ] = False,
    users: Annotated[
        int, typer.Option(help="Seeded users that give an eighth; 0 is everyone, without test.")
    ] = 0,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Test is everyone's last eighth of train.")
    ] = False,
) -> None:
    """Write a split whose validation, or whose test, is the last eighth of train lines."""
    split = Split.load(source)
    lines = read_lines(raw, split)
    if inferred:
        late = lateness(lines, split.n_items)
        lines = [line[np.argsort(late[line], kind="stable")] for line in lines]
    test = split.test if users else _pairs([line[:0] for line in lines], split.n_items)
    if rehearsal:
        lines, last = _cut(lines)
        test = _pairs(last, split.n_items)
    if rehearsal and not users:
        made = _split_as_published(split, lines, test)
    else:
        first, last = _cut(lines, users)
        train, validation = (_pairs(rows, split.n_items) for rows in (first, last))
        made = replace(split, train=train, validation=validation, test=test)
    out.parent.mkdir(parents=True, exist_ok=True)
    made.save(out)
    counts = f"{len(made.train):,} train, {len(made.validation):,} validation"
    print(f"wrote {out}: {counts} and {len(made.test):,} test pairs")


def _cut(lines: list[np.ndarray], users: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Every line without its last eighth, and that; of so many seeded users, or of everyone."""
    held = np.array([max(1, round(len(line) / SHARE)) if len(line) > 1 else 0 for line in lines])
    if users:
        able = np.flatnonzero(held)
        chosen = np.random.default_rng(0).choice(able, min(users, len(able)), replace=False)
        held[np.setdiff1d(able, chosen)] = 0
    whole = [len(line) - n for line, n in zip(lines, held, strict=True)]
    return (
        [line[:n] for line, n in zip(lines, whole, strict=True)],
        [line[n:] for line, n in zip(lines, whole, strict=True)],
    )


def _split_as_published(split: Split, lines: list[np.ndarray], test: Pairs) -> Split:
    """Lines and test as a published split, whose validation is a random eighth of some users."""
    ids = split.user_ids, split.item_ids
    train, asked = (
        Interactions(pairs, *ids, name=split.name) for pairs in (_pairs(lines, split.n_items), test)
    )
    return published_split(train, asked, rng=np.random.default_rng(0))


def read_lines(path: Path, split: Split) -> list[np.ndarray]:
    """Item numbers of every user, in the order of her line."""
    lines = [np.zeros(0, dtype=np.int64)] * split.n_users
    known_users, known_items = (np.asarray(x.values) for x in (split.user_ids, split.item_ids))
    user_order, item_order = np.argsort(known_users), np.argsort(known_items)
    with gzip.open(path, "rt", encoding="ascii") as file:
        for text in file:
            user, *items = map(int, text.split())
            at = np.searchsorted(known_items, items, sorter=item_order)
            row = user_order[np.searchsorted(known_users, user, sorter=user_order)]
            lines[row] = item_order[at]
    return lines


def lateness(lines: list[np.ndarray], n_items: int) -> np.ndarray:
    """(V,) how late each item is, learnt from the runs of items that one user brought in."""
    from scipy.sparse.linalg import svds

    pairs = _pairs(lines, n_items)
    by_user, by_item = (1 / np.sqrt(np.maximum(n, 1)) for n in (pairs.per_user, pairs.per_item))
    graph = pairs.csr().astype(np.float32).multiply(by_user[:, None]).multiply(by_item[None])
    _, s, V = svds(graph.tocsr().astype(np.float32), k=DIMENSIONS, random_state=0)
    features = V.T * s * by_item[:, None]
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    popularity = np.log1p(pairs.per_item)
    features = np.column_stack([features, (popularity - popularity.mean()) / popularity.std()])
    brought_by = np.full(n_items, pairs.n_users)
    np.minimum.at(brought_by, pairs.items, pairs.users)
    counts = np.bincount(brought_by, minlength=pairs.n_users + 1)
    some = np.flatnonzero((counts[brought_by] >= SHORTEST_RUN) & (brought_by < pairs.n_users))
    run = brought_by[some]
    x, y = _centred(features[some], run), _centred(_places(run), run)
    known = np.random.default_rng(0).random(pairs.n_users)[run] < 0.8
    fit = _ridge(x[known], y[known])
    found = np.corrcoef(x[~known] @ fit, y[~known])[0, 1]
    print(f"order inferred from {len(some):,} items; correlation on runs left out {found:.2f}")
    late: np.ndarray = features @ _ridge(x, y)
    return late


def _places(run: np.ndarray) -> np.ndarray:
    """(n,) the place of each item in its run, from 0 to 1; items come in rising order."""
    order = np.argsort(run, kind="stable")
    first = np.concatenate(([True], run[order][1:] != run[order][:-1]))
    starts = np.flatnonzero(first)
    number = np.cumsum(first) - 1
    lengths = np.diff(np.append(starts, len(run)))
    places = np.empty(len(run))
    places[order] = (np.arange(len(run)) - starts[number]) / (lengths[number] - 1)
    return places


def _centred(values: np.ndarray, run: np.ndarray) -> np.ndarray:
    """Values less the mean of their run."""
    sums = np.zeros((run.max() + 1, *values.shape[1:]))
    np.add.at(sums, run, values)
    counts = np.maximum(np.bincount(run), 1).reshape(-1, *[1] * (values.ndim - 1))
    centred: np.ndarray = values - (sums / counts)[run]
    return centred


def _ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    solved: np.ndarray = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)
    return solved


def _pairs(rows: list[np.ndarray], n_items: int) -> Pairs:
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return Pairs.from_arrays(users, np.concatenate(rows), n_users=len(rows), n_items=n_items)


if __name__ == "__main__":
    app()
