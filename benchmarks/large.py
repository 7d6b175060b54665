"""Training at a size, part by part, and a whole fit, on worlds whose best lists are known.

    python -m benchmarks.large --pairs 100000000 --device cuda
    python -m benchmarks.large --fit 10000000 --device cuda

A world (`benchmarks.synthetic`) has a hundred pairs for every item, as many users as items, and a
cluster for every thousand items. The line of `--pairs` holds the seconds of every part of a
training, its peak memory, the recall after one epoch beside that of the best lists, and the seconds
of the whole recipe that follow: trials of every temperature, all epochs, every choice, no early
end. The line of `--fit` holds the seconds of every stage, and recall beside that of the best lists.
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.lines import append, comparison, read
from benchmarks.synthetic import World
from elasticrec.data.cooccurrence import count_cooccurrence
from elasticrec.data.ids import Ids
from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import Queries, evaluate, pick_device, queries_of
from elasticrec.pipeline import fit
from elasticrec.presets import Preset
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import fast_matmul
from elasticrec.training.setup import keep_freed_memory, make_base
from elasticrec.training.state import TrainingState

PAIRS_PER_ITEM, ITEMS_PER_CLUSTER = 100, 1000
K = 50
"""Length of the lists that are compared."""


@contextmanager
def timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    """Note and print how long a block takes."""
    began = time.perf_counter()
    yield
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds[part] = time.perf_counter() - began
    print(f"{part}: {seconds[part]:.1f} s", flush=True)


def planted(n_pairs: int, seed: int, device: str) -> tuple[World, Split]:
    """A world, of whose pairs a tenth is for validation and a fifth for test."""
    n_items = n_pairs // PAIRS_PER_ITEM
    clusters = max(2, n_items // ITEMS_PER_CLUSTER)
    world = World.planted(n_items, n_items, n_pairs, seed, n_clusters=clusters, device=device)
    pairs = world.pairs()
    part = np.random.default_rng(seed).random(len(pairs), dtype=np.float32)
    cuts = part < 0.7, (part >= 0.7) & (part < 0.8), part >= 0.8
    train, validation, test = (pairs.where(cut) for cut in cuts)
    ids = Ids.dense(n_items)
    return world, Split(train, validation, test, ids, ids, name="planted")


def best_recall(world: World, split: Split, asked: Queries, part: str) -> float:
    """Mean recall of the best lists of the users asked about."""
    seen = split.train if part == "validation" else split.train.union(split.validation)
    lists = world.best_lists(asked.users, seen, K)
    keys = np.arange(len(lists))[:, None] * split.n_items + lists
    hits = np.isin(keys, asked.relevant.keys()).sum(axis=1)
    return float((hits / asked.relevant.per_user).mean())


def one_epoch(args: argparse.Namespace) -> None:
    """Measure every part of a training, and append a line."""
    seconds: dict[str, float] = {}
    device, whole = pick_device(args.device), TrainConfig(seed=args.seed)
    with timed(seconds, "world"):
        world, split = planted(args.pairs, args.seed, device)
    config = replace(whole, epochs=1).sized(split.train)
    recipe = whole.sized(split.train)
    with timed(seconds, "cooccurrence"):
        lists = count_cooccurrence(split.train, config.cooccurrence_k)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with timed(seconds, "first vectors"):
        generator = torch.Generator(device).manual_seed(args.seed)
        base = make_base(split.train, config, generator)
        state = TrainingState(split, config, base, generator, lists)
    first_memory = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with fast_matmul(), timed(seconds, "epoch"):
        ends = time.monotonic() + args.seconds
        for batch in state.sampler.epoch(args.seed, 0, generator):
            state.step(batch)
            if time.monotonic() > ends:
                break
        else:
            ends = math.inf
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    share = 1.0 if ends == math.inf else state.progress.steps / state.sampler.n_batches
    rate = len(split.train) * share / seconds["epoch"]
    with timed(seconds, "validation"):
        recall = state.validation.value(base)
    assert state.validation.asked is not None
    with timed(seconds, "best lists"):
        best = best_recall(world, split, state.validation.asked, "validation")
    trials = 1 + len(recipe.temperatures)
    trial_epochs = max(1, round(recipe.trial_share * recipe.epochs))
    epochs = recipe.epochs + trials * trial_epochs
    validations = (
        trials * (1 + len(recipe.exponents))
        + len(recipe.exponents)
        + 1
        + (-(-recipe.epochs // recipe.evaluate_every))
    )
    total = (
        2 * seconds["cooccurrence"] + (trials + 1) * seconds["first vectors"]
        + epochs * len(split.train) / rate + validations * seconds["validation"]
    )  # fmt: skip
    metrics = comparison(rate, "examples/s") | {
        f"recall@{K}": recall, "best": best, "epoch_share": share, "recipe_seconds": total,
        "parts": seconds, "step_seconds": seconds["epoch"] / state.progress.steps,
        "device_bytes": memory, "device_bytes_of_first_vectors": first_memory,
        "host_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }  # fmt: skip
    sizes = {"pairs": args.pairs, "train": len(split.train), "items": split.n_items}
    facts = {"epochs": recipe.epochs, "trials": trials, "trial_epochs": trial_epochs}
    line = {"method": f"epoch-{device}", "seed": args.seed, "metrics": metrics}
    append("training", line | {"config": sizes | facts, "seconds": sum(seconds.values())})
    print(
        f"{rate:,.0f} examples/s; recall@{K} {recall:.4f} of {best:.4f}; whole recipe at most "
        f"{total / 60:.1f} min",
        flush=True,
    )


def whole_fit(args: argparse.Namespace) -> None:
    """Fit a model to a smaller world, and append a line."""
    device = pick_device(args.device)
    world, split = planted(args.fit, args.seed, device)
    began = time.perf_counter()
    preset = replace(Preset(), refit=False).seeded(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        model = fit(
            split, Path(folder) / "model", preset, device=device,
            report=lambda stage, text: print(f"{stage}: {text}") if "weight" not in text else None,
        )  # fmt: skip
        users = np.flatnonzero(split.test.per_user)[:5_000]  # in no order
        found = evaluate(
            model.table, model.split, metrics=(f"recall@{K}",), users=users, device=device
        )
        curve = [
            (p["bytes"] / split.n_items, p[model.curve["metric"]]) for p in model.curve["points"]
        ]
        stages = dict(model.about["seconds"])
        stream_bytes = model.path("stream").stat().st_size if model.has("stream") else 0
    best = best_recall(world, split, queries_of(split, "test", users), "test")
    value = found.metrics[f"recall@{K}"]
    metrics = comparison(value, f"recall@{K}", rival=best, better="higher")
    metrics |= {"stages": stages, "curve": curve, "stream_bytes": stream_bytes}
    config = {"pairs": args.fit, "items": split.n_items, "device": device}
    line = {"method": f"fit-{device}", "seed": args.seed, "metrics": metrics, "config": config}
    append("training", line | {"seconds": time.perf_counter() - began})
    print(f"fit: recall@{K} {value:.4f} of {best:.4f}; seconds {stages}; curve {curve}")


def table() -> None:
    """Print the lines as tables for `docs/scale.md`."""
    parts = "cooccurrence", "first vectors", "epoch", "validation"
    print("| train pairs, items | on |", *(f"{part} |" for part in parts), end=" ")
    print(f"interactions per second | recall@{K}, best | GPU memory | whole recipe at most |")
    print("|---" * 10 + "|")
    for line in read("training"):
        found, sizes = line["metrics"], line["config"]
        if line["method"].startswith("epoch-"):
            print(f"| {sizes['train']:,}, {sizes['items']:,} | {line['machine']} |", end=" ")
            print(*(f"{found['parts'][part]:.0f} s |" for part in parts), end=" ")
            print(
                f"{found['value']:,.0f} | {found[f'recall@{K}']:.4f}, {found['best']:.4f}", end=""
            )
            memory = max(found["device_bytes"], found["device_bytes_of_first_vectors"])
            print(f" | {memory / 1e9:.1f} GB | {found['recipe_seconds'] / 60:.0f} min |")
        elif line["method"].startswith("fit-"):
            stages = ", ".join(f"{name} {seconds:.0f}" for name, seconds in found["stages"].items())
            print(
                f"fit to {sizes['pairs']:,} pairs, {line['seconds'] / 60:.0f} min: recall@{K}",
                end=" ",
            )
            print(f"{found['value']:.4f}, best {found['rival']:.4f}; seconds: {stages}")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, help="of the training that is measured by parts")
    parser.add_argument("--fit", type=int, help="pairs of the whole fit")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the epoch, at most")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the lines as tables")
    args = parser.parse_args()
    if args.table:
        return table()
    keep_freed_memory()
    if args.pairs:
        one_epoch(args)
    if args.fit:
        whole_fit(args)


if __name__ == "__main__":
    main()
