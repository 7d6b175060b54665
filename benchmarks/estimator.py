"""What the estimator costs at Amazon-Book's size: measuring 15,000 compositions, fitting, asking.

    python -m benchmarks.estimator [--samples 15000] [--rows 16]
    python -m benchmarks.estimator --gpu             # the plain evaluator on a GPU, free blocks

1,000 users, 91,599 items in 20 groups, 16 blocks of 8, Recall@100. On a CPU compositions of a menu
are measured by counts, the building of which is included; the rival is the plain evaluator in the
same run, on two cores if it scaled perfectly to two processes. Users, items and tastes are made up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.lines import append, comparison
from elasticrec.data.interactions import Pairs
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.estimator.draws import Draws
from elasticrec.rule.estimator.ledger import Samples
from elasticrec.evaluation.questions import Questions
from elasticrec.space.budget import PaperAccounting
from elasticrec.space.composition import F32, Menu
from elasticrec.space.groups import even_sizes

N_USERS, N_ITEMS, N_GROUPS, N_BLOCKS, BLOCK_SIZE = 1_000, 91_599, 20, 16, 8
SEEN, RELEVANT = 45, 6
CORES = 2


def make_world(seed: int) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Questions]:
    """Blocks, users and where groups start; and what is asked: relevant items often score high."""
    rng = np.random.default_rng(seed)
    width = N_BLOCKS * BLOCK_SIZE
    fading = np.linspace(2.0, 0.2, width, dtype=np.float32)  # early blocks matter more
    users = rng.standard_normal((N_USERS, width), dtype=np.float32) * fading
    items = rng.standard_normal((N_ITEMS, width), dtype=np.float32) * fading
    relevant = np.empty((N_USERS, RELEVANT), dtype=np.int64)
    for u in range(N_USERS):
        some = rng.choice(N_ITEMS, size=2000, replace=False)
        relevant[u] = some[np.argsort(-(items[some] @ users[u]))[:RELEVANT]]
    taken = rng.integers(N_ITEMS, size=(N_USERS, SEEN))
    clash = (taken[:, :, None] == relevant[:, None, :]).any(axis=2)
    taken[clash] = np.setdiff1d(np.arange(N_ITEMS), relevant)[0]
    rows = np.arange(N_USERS)[:, None]
    seen, wanted = (
        Pairs.from_arrays(
            np.broadcast_to(rows, part.shape).ravel(),
            part.ravel(),
            n_users=N_USERS,
            n_items=N_ITEMS,
        )
        for part in (taken, relevant)
    )
    bounds = np.concatenate(([0], np.cumsum(even_sizes(N_ITEMS, N_GROUPS))))
    blocks = items.reshape(N_ITEMS, N_BLOCKS, BLOCK_SIZE)
    return (blocks, users, bounds), Questions(np.arange(N_USERS), seen, wanted)


def some_menu(n_rows: int) -> Menu:
    """Prefixes of the blocks, or more rows of the same widths beyond 16."""
    rng = np.random.default_rng(0)
    rows = [np.arange(N_BLOCKS) < 1 + r % N_BLOCKS for r in range(N_BLOCKS)]
    while len(rows) < n_rows:
        row = rng.random(N_BLOCKS) < rng.random()
        if row.any() and not any(np.array_equal(row, other) for other in rows):
            rows.append(row)
    return Menu(np.array(rows[:n_rows]) * F32, np.zeros(n_rows, dtype=np.uint8))


def draws_from(menu: Menu | None, seed: int) -> Draws:
    """Our draws from a menu, or those of Alg. 3."""
    accounting = PaperAccounting(even_sizes(N_ITEMS, N_GROUPS), N_BLOCKS, BLOCK_SIZE)
    return Draws(accounting, N_GROUPS, N_BLOCKS, menu, False, (), seed)


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_menu(n_samples: int, n_rows: int, n_plain: int, seed: int) -> Samples:
    """Measure by counts and plainly, check that they agree, append a line; the samples measured."""
    from elasticrec.evaluation.compositions import PlainEvaluator
    from elasticrec.evaluation.merging import MenuEvaluator
    from elasticrec.evaluation.rows import BlockScores

    model, asked = make_world(seed)
    menu = some_menu(n_rows)
    scores = BlockScores(*model)
    drawn = draws_from(menu, seed)(range(n_samples))
    start = time.perf_counter()
    counted = MenuEvaluator(scores, asked, menu, threads=CORES)
    building = time.perf_counter() - start
    values = counted.evaluate(drawn.depths, drawn.neighbours)
    total = time.perf_counter() - start

    plain = PlainEvaluator(scores, asked)
    start = time.perf_counter()
    few = plain.evaluate(drawn.depths[:n_plain], drawn.neighbours[:n_plain])
    each = (time.perf_counter() - start) / n_plain
    if not np.array_equal(few, values[:n_plain]):
        raise AssertionError(f"by counts {values[:n_plain]}, plainly {few}")
    rival = each / CORES * n_samples
    fields = {"samples": n_samples, "rows": n_rows, "building_seconds": round(building, 2)}
    line = append(
        "estimator",
        {
            "method": "measuring-by-counts",
            "seed": seed,
            "seconds": round(total, 2),
            "metrics": comparison(total, f"s per {n_samples:,} compositions", rival=rival),
            "config": {**fields, "plain_seconds_each": round(each, 4)},
        },
    )
    print(
        f"{n_samples:,} compositions by counts: {building:.1f} s to count, "
        f"{total - building:.1f} s to sum; plainly {each:.3f} s each, "
        f"{line['metrics']['ratio']:.0f} times as long on {CORES} cores"
    )
    return Samples(drawn.depths, drawn.neighbours, values)


def bench_gpu(n_samples: int, seed: int) -> None:
    """Measure free blocks plainly on a GPU, and append a line."""
    from elasticrec.evaluation.compositions import PlainEvaluator
    from elasticrec.evaluation.rows import BlockScores

    model, asked = make_world(seed)
    evaluators = [
        PlainEvaluator(BlockScores(*model, device=device), asked) for device in ("cuda", "cpu")
    ]
    drawn = draws_from(None, seed)(range(n_samples))
    few, same = (each.evaluate(drawn.depths[:4], drawn.neighbours[:4]) for each in evaluators)
    if np.abs(few - same).max() > 1e-3:  # products round differently, so ranks may swap
        raise AssertionError(f"on the GPU {few}, on the CPU {same}")
    total = seconds(lambda: evaluators[0].evaluate(drawn.depths, drawn.neighbours))
    few_total = seconds(lambda: evaluators[1].evaluate(drawn.depths[:8], drawn.neighbours[:8]))
    append(
        "estimator",
        {
            "method": "measuring-plainly-cuda",
            "seed": seed,
            "seconds": round(total, 2),
            "metrics": comparison(
                total, f"s per {n_samples:,} compositions", rival=few_total / 8 * n_samples
            ),
            "config": {"samples": n_samples, "rival": "the same on one CPU core"},
        },
    )
    print(
        f"{n_samples:,} compositions plainly on a GPU: {total:.1f} s, "
        f"{total / n_samples * 1e3:.2f} ms each"
    )


def bench_fit(samples: Samples, seed: int, device: str) -> None:
    """Fit on all but 500 samples and ask for estimates; append a line for each."""
    from elasticrec.rule.estimator.training import agreement, fit

    kept = Samples(samples.depths[500:], samples.neighbours[500:], samples.values[500:])
    start = time.perf_counter()
    estimator = fit(kept, replace(EstimatorConfig(), seed=seed), device=device).estimator
    total = time.perf_counter() - start
    unseen = Samples(samples.depths[:500], samples.neighbours[:500], samples.values[:500])
    rank = agreement(estimator, unseen).spearman
    append(
        "estimator",
        {
            "method": f"fitting-{device}",
            "seed": seed,
            "seconds": round(total, 2),
            "metrics": comparison(total, f"s per {len(kept):,} samples"),
            "config": {"samples": len(kept), "spearman": round(rank, 4)},
        },
    )
    print(f"fitted in {total:.1f} s on {device}; Spearman {rank:.4f} on 500 others")
    for n in (1, 20):
        ask = partial(estimator.predict, samples.depths[:n], samples.neighbours[:n])
        micro = float(np.median([seconds(ask) for _ in range(2000)])) * 1e6
        append(
            "estimator",
            {
                "method": f"asking-for-{n}",
                "seed": seed,
                "metrics": comparison(micro, "µs per call"),
                "config": {"compositions": n},
            },
        )
        print(f"{n} estimates in {micro:.0f} µs")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="the plain evaluator on a GPU")
    parser.add_argument("--samples", type=int, default=SamplesConfig().n_samples)
    parser.add_argument("--rows", type=int, default=N_BLOCKS, help="rows of the menu")
    parser.add_argument("--plain", type=int, default=12, help="compositions for the rival")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.gpu:
        bench_gpu(args.samples, args.seed)
        return
    bench_fit(bench_menu(args.samples, args.rows, args.plain, args.seed), args.seed, "cpu")


if __name__ == "__main__":
    main()
