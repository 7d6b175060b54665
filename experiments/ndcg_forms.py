"""The two other forms of NDCG by which rows of the paper's table can be read.

In the paper NDCG exceeds recall in nearly every cell; by the usual definition, which the library
has, it does not here. `ndcg-of-hits` divides by the best order of the hits alone, as if nothing
else were relevant; `dcg` is not normalised at all. No one form fits all rows, so ours are never
compared with that table's NDCG.

    python -m experiments.ndcg_forms draw
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.evaluation.metrics import metrics_from_ranks
from experiments.command import make_app

if TYPE_CHECKING:
    from elasticrec.training.table import BlockTable
    from elasticrec.data.splitting import Split

LENGTHS = (50, 100)
app = make_app(__doc__)


def dcg_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """Discounted gain of the first k, 1 / log2(place + 1) per hit; no share of anything."""
    wanted = set(relevant)
    return sum(1 / log2(rank + 2) for rank, item in enumerate(ranked[:k]) if item in wanted)


def ndcg_of_hits_at(k: int, ranked: Sequence[Any], relevant: Collection[Any]) -> float:
    """Discounted gain of the first k as a share of that of the same hits on top; 0 without any."""
    n_hits = len(set(relevant).intersection(ranked[:k]))
    best = sum(1 / log2(rank + 2) for rank in range(n_hits))
    return dcg_at(k, ranked, relevant) / best if n_hits else 0.0


def forms_from_ranks(
    ranks: np.ndarray, indptr: np.ndarray, lengths: Iterable[int] = LENGTHS
) -> dict[str, np.ndarray]:
    """(U,) each form's value for every user, from the ranks of the relevant items.

    Args:
        ranks, indptr: as in `elasticrec.evaluation.metrics.metrics_from_ranks`.
    """
    out, counts = {}, np.diff(indptr)
    for k in lengths:
        names = [f"ndcg@{k}", f"recall@{k}"]
        usual, recall = metrics_from_ranks(ranks, indptr, names).values()
        best = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(k) + 2.0))))
        gain = usual * best[np.minimum(counts, k)]
        hits = np.rint(recall * counts).astype(np.int64)
        out[f"dcg@{k}"] = gain
        out[f"ndcg-of-hits@{k}"] = np.divide(
            gain, best[hits], out=np.zeros_like(gain), where=hits > 0
        )
    return out


def forms_of(table: BlockTable, split: Split, device: str = "auto") -> dict[str, float]:
    """Both forms on test, of a table whose users have vectors of their own."""
    from elasticrec.training.scoring import effective
    from elasticrec.evaluation.questions import questions
    from elasticrec.evaluation.ranking import pick_device, rank_relevant, users_at_once

    asked, where = questions(split, "test"), pick_device(device)
    import torch

    users, items = (torch.as_tensor(x, device=where) for x in effective(table))
    persons = users[torch.as_tensor(asked.users, device=where)]
    ranks, _ = rank_relevant(
        lambda start, stop: persons[start:stop] @ items.T,
        asked,
        max(LENGTHS),
        batch_size=users_at_once(len(items), where),
        device=where,
    )
    found = forms_from_ranks(ranks, asked.relevant.indptr)
    return {name: float(values.mean()) for name, values in found.items()}


@app.command()
def draw() -> None:
    """Print the paper's NDCG beside the three forms of its method as measured here."""
    print(table())


def table() -> str:
    """The paper's NDCG columns, uncompared, and under them our forms, as a Markdown table."""
    from experiments import lines, paper

    heads = [f"NDCG@{k}, {mb} MB" for mb in paper.SIZES for k in LENGTHS]
    rows = [
        "| data set | method | " + " | ".join(heads) + " |",
        "|---|---|" + "---|" * len(heads),
    ]
    for (dataset, method), cells in paper.table2().items():
        values = [cells[f"{mb}"][f"ndcg@{k}"] for mb in paper.SIZES for k in LENGTHS]
        shown = " | ".join(f"{value:.5f}" for value in values)
        rows.append(f"| {dataset}, as printed | {method} | {shown} |")
    measured: dict[tuple[str, str], dict[tuple[str, float], list[float]]] = {}
    for line in lines.read("table2"):
        for name, value in {**(line.get("forms") or {}), **line["metrics"]}.items():
            form, _, k = name.partition("@")
            if line.get("forms") and form in ("ndcg", "dcg", "ndcg-of-hits"):
                found = measured.setdefault((line["dataset"], f"{line['method']}, {form}"), {})
                found.setdefault((k, line["nominal_mb"]), []).append(value)
    for (dataset, label), cells_ in sorted(measured.items()):
        values_ = [cells_.get((str(k), mb)) for mb in paper.SIZES for k in LENGTHS]
        shown = " | ".join("–" if v is None else f"{np.mean(v):.5f}" for v in values_)
        rows.append(f"| {dataset}, here | {label} | {shown} |")
    return "\n".join(rows)


if __name__ == "__main__":
    app()
