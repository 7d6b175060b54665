"""Seconds of an exact evaluation at Amazon-Book's size, against a plain NumPy sort of all scores.

    python -m benchmarks.evaluation [--users 8192] [--rival-users 256] [--device auto]

Both score 91,599 items with 128 dimensions, hide what each user has seen, and measure Recall and
NDCG at 20, 50 and 100 on the same seeded world; both must give the same numbers.
"""

from __future__ import annotations

import argparse
import time
from math import log2

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.metrics import Metric, parse_metrics
from elasticrec.evaluation.ranking import Queries, evaluate_vectors, pick_device

N_USERS, N_ITEMS, DIMENSIONS = 52_643, 91_599, 128
SEEN, RELEVANT = 45, 12
NAMES = ("recall@20", "recall@50", "recall@100", "ndcg@20", "ndcg@50", "ndcg@100")


def make_world(n_users: int, seed: int) -> tuple[np.ndarray, np.ndarray, Queries]:
    """User and item vectors, and what each user has seen and should be shown, all random."""
    rng = np.random.default_rng(seed)
    users = rng.standard_normal((n_users, DIMENSIONS), dtype=np.float32)
    items = rng.standard_normal((N_ITEMS, DIMENSIONS), dtype=np.float32)
    taken = rng.integers(N_ITEMS, size=(n_users, SEEN + RELEVANT))
    rows = np.repeat(np.arange(n_users), SEEN + RELEVANT).reshape(taken.shape)
    seen, relevant = (
        Pairs.from_arrays(r.ravel(), i.ravel(), n_users=n_users, n_items=N_ITEMS)
        for r, i in (
            (rows[:, :SEEN], taken[:, :SEEN]),
            (rows[:, SEEN:], taken[:, SEEN:]),
        )
    )
    return users, items, Queries(np.arange(n_users), seen, relevant, seen)


def first(asked: Queries, n: int) -> Queries:
    """The queries about the first n users."""
    some = np.arange(n)
    seen = asked.seen.rows(some)
    return Queries(asked.users[:n], seen, asked.relevant.rows(some), seen)


def plain_evaluation(users: np.ndarray, items: np.ndarray, asked: Queries) -> dict[str, float]:
    """The rival: score, hide, sort everything, and measure one list after the other."""
    metrics = parse_metrics(NAMES)
    totals = dict.fromkeys(NAMES, 0.0)
    for start in range(0, len(users), 128):
        scores = users[start : start + 128] @ items.T
        for row in range(len(scores)):
            scores[row, asked.seen.of(start + row)] = -np.inf
        ranked = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        for row in range(len(scores)):
            relevant = set(asked.relevant.of(start + row).tolist())
            for metric in metrics:
                value = plain_metric(metric, ranked[row].tolist(), relevant)
                totals[str(metric)] += value / len(users)
    return totals


def plain_metric(metric: Metric, ranked: list[int], relevant: set[int]) -> float:
    """Recall or NDCG of one list."""
    hits = [place for place, item in enumerate(ranked[: metric.k], start=1) if item in relevant]
    if metric.name == "recall":
        return len(hits) / len(relevant)
    best = range(1, min(metric.k, len(relevant)) + 1)
    return sum(1 / log2(place + 1) for place in hits) / sum(1 / log2(place + 1) for place in best)


def main() -> None:
    """Measure both, check that they agree, and append one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, help="default: 8,192 on a CPU, all on a GPU")
    parser.add_argument("--rival-users", type=int, default=256)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    device = pick_device(args.device)
    n_users = args.users or (8192 if device == "cpu" else N_USERS)
    users, items, asked = make_world(n_users, args.seed)

    few = first(asked, args.rival_users)
    warm = evaluate_vectors(users[: args.rival_users], items, few, metrics=NAMES, device=device)
    start = time.perf_counter()
    evaluate_vectors(users, items, asked, metrics=NAMES, device=device)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    plain = plain_evaluation(users[: args.rival_users], items, few)
    rival = (time.perf_counter() - start) / args.rival_users * 1000
    for name, value in plain.items():
        if abs(warm.metrics[name] - value) > 1e-6:
            raise AssertionError(f"{name}: {warm.metrics[name]} here, {value} by plain sorting")

    ours = seconds / n_users * 1000
    config = {"users": n_users, "items": N_ITEMS, "dimensions": DIMENSIONS, "device": device}
    line = append(
        "evaluation",
        {
            "method": f"evaluate-{device}",
            "seed": args.seed,
            "seconds": round(seconds, 2),
            "metrics": comparison(ours, "s per 1,000 users", rival=rival),
            "config": config,
        },
    )
    print(
        f"{n_users:,} users in {seconds:.1f} s on {device}: {ours:.3f} s per 1,000 users, "
        f"plain sort {rival:.2f} s, {line['metrics']['ratio']:.0f} times"
    )


if __name__ == "__main__":
    main()
