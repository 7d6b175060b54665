"""Rivals at equal bytes: their settings chosen on validation, and what they are worth.

Rivals with codes take the very table that ours is made from, alone and with its neighbour lists
beside them; lists alone take what is known. Nothing here exceeds the bytes that it is made for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import Evaluation, holders, pick_device
from elasticrec.model import Model
from elasticrec.training.table import popularity_factors
from experiments import comparing, default, lines, streams
from experiments.baselines.neighbours import LISTS_ALONE, cut_short, shared, slots_within
from experiments.baselines.quantisers import QUANTISERS, Quantiser
from experiments.command import Task
from experiments.provenance import LIBRARY, code_hash
from experiments.ranking import Ranker, Votes, recall

EXPERIMENT, TUNING = "table2", "table2-tuning"
SIZES = default.SIZES
POPULARITY, LISTS = "popularity", " + lists"
BASE = "int8 of plain loss"
UNTRAINED = (POPULARITY, *LISTS_ALONE)
"""Methods that have no seeds."""
TUNED_AT = {3: 6, 6: 6, 11: 20, 20: 20, 54: 110, 110: 110, 270: 110}
"""By size, where the settings of a rival with codes are chosen for it."""
LARGE, MEASURED_LARGE = SIZES[-1], ("opq", "int8")
"""At the largest size these alone are measured of the rivals with codes."""
TUNING_USERS = 3_000
SHARES = (0.15, 0.35, 0.6)
"""Shares of the bytes that lists beside codes may take."""
FIRST_WEIGHT = 1.0
"""The vote weight, beside cosines, from which better ones are looked for by factors of two."""
LARGE_MATRIX = 30_000
"""Items from which a matrix of all pairs has a GPU for itself."""
FORMAT = 4
CODE = (*LIBRARY, *(f"experiments/{name}" for name in (
    "default.py", "ranking.py", "streams.py", "table2.py", "equal_bytes.py",
    "baselines/neighbours.py", "baselines/quantisers.py")))  # fmt: skip


def is_done(task: Task, found: list[lines.Line]) -> bool:
    """True if the last line of a rival is there."""
    coded = task.method in QUANTISERS
    last = {**task.about, "bytes_per_item": 110 if coded else SIZES[-1]}
    last["method"] = task.method + (LISTS if coded else "")
    return lines.holds(found, **last, code_hash=code_hash(*CODE))


def tuned(task: Task) -> dict[float, dict[str, Any]]:
    """A rival's settings by size, chosen on validation users by seed 0; once for all seeds."""
    task = replace(task, seed=0)
    with streams.alone(f"{task.dataset}-{task.part}-{task.method.replace(' ', '-')}"):
        if not (found := _tuned_before(task)):
            tune(task)
            found = _tuned_before(task)
    return found


def _tuned_before(task: Task) -> dict[float, dict[str, Any]]:
    wanted = {**task.about, "method": task.method, "code_hash": code_hash(*CODE)}
    found = lines.latest(TUNING)
    return {x["bytes_per_item"]: x["config"] for x in found if lines.holds([x], **wanted)}


def tune(task: Task) -> None:
    """Choose a rival's settings for each size, and write them as lines."""
    started = time.perf_counter()
    model = None if task.method in LISTS_ALONE else default.fitted(task)[0]
    split = untuned_split(task) if model is None else model.split
    able = holders(split)
    users = able[:: max(1, len(able) // TUNING_USERS)]
    if model is None:
        ranker = Ranker(split, "validation", users, task.device)
        with the_only_matrix(split):
            chosen = list(_tuned_lists(task, split, ranker))
    else:
        ranker = ranker_of(model, split, task, users=users, part="validation")
        chosen = list(tuned_codes(task, model, ranker, sorted(set(TUNED_AT.values()))))
    for size, value, config in chosen:
        fields = {
            **task.about, "method": task.method, "bytes_per_item": size, "config": config,
            "metrics": {"recall@50": value, "users": len(users)}, "code_hash": code_hash(*CODE),
            "split": split.kind, "seconds": round(time.perf_counter() - started, 2),
        }  # fmt: skip
        lines.append(TUNING, fields)


def untuned_split(task: Task) -> Split:
    """What may be seen before test, or before the reporting half, is measured."""
    return default.shown_to_fit(Split.load(task.path), task.part, task.users)[0]


@contextmanager
def the_only_matrix(split: Split) -> Iterator[None]:
    """Wait until no other process has a matrix of many items: a GPU has room for one."""
    with streams.alone("matrix") if split.n_items >= LARGE_MATRIX else nullcontext():
        yield


def ranker_of(
    model: Model, split: Split, task: Task, *, users: np.ndarray | None, part: Any
) -> Ranker:
    """Users as a model's table ranks for them: by recency, and by how popular items are."""
    table = model.table
    factors = popularity_factors(split.train.per_item, table.popularity_exponent)
    return Ranker(split, part, users, task.device, table.recency, factors)


Tuned = Iterator[tuple[float, float, dict[str, Any]]]
"""Size, Recall@50 and settings."""


def _tuned_lists(task: Task, split: Split, ranker: Ranker) -> Tuned:
    method, train, device = LISTS_ALONE[task.method], split.train, ranker.device
    best: dict[float, tuple[float, dict[str, Any]]] = {}
    size: float
    trials, power, G = 0, None, None
    for settings in method.tried:
        if settings["user_power"] != power:
            power, G = settings["user_power"], None  # one matrix at a time
            G = shared(train, settings["user_power"], device)
        assert G is not None
        longest = method.make(G, train, settings)
        trials += len(method.cuts)
        for size in SIZES:
            for cut in method.cuts:
                k = slots_within(size, split.n_items)
                if k < 1:
                    continue
                lists = cut_short(longest, k, G, train, settings | cut)
                value = recall(ranker.evaluate(votes=Votes.of(*lists), metrics=("recall@50",)))
                if value > best.get(size, (-1.0, {}))[0]:
                    best[size] = value, settings | cut
    for size, (value, chosen) in best.items():
        yield size, value, {"chosen": chosen, "trials": trials}


def tuned_codes(task: Task, model: Model, ranker: Ranker, sizes: Sequence[float]) -> Tuned:
    """The best settings of a rival with codes at some sizes, alone and beside lists."""
    method, items = QUANTISERS[task.method], units(model, ranker.device)
    for size in sizes:
        values = dict[int, float]()
        for n, settings in enumerate(method.tried):
            if (y := method.code(items, size, settings, task.seed)) is not None:
                values[n] = recall(ranker.evaluate(y, metrics=("recall@50",)))
        if not values:
            continue
        ranked = [method.tried[n] for n in sorted(values, key=lambda n: -values[n])]
        trials, best = len(values), max(values.values())
        config: dict[str, Any] = {"chosen": ranked}
        highest, weight = -1.0, FIRST_WEIGHT
        for share in SHARES:
            k, y = _beside_lists(task, model, items, size, share, ranked)
            if y is None:
                continue
            votes = Votes.of_neighbours(model.neighbours, k, ranker.device)
            value, weight, n = weighed(ranker, y, votes, weight)
            trials += n
            if value > highest:
                highest, config["lists"] = value, {"share": share, "weight": weight}
        yield size, max(best, highest), config | {"trials": trials}


def _beside_lists(
    task: Task, model: Model, items: Tensor, size: float, share: float,
    ranked: list[dict[str, Any]],
) -> tuple[int, Tensor | None]:  # fmt: skip
    """The length of lists that take about a share of the bytes, and codes in what is left."""
    V, method = model.split.n_items, QUANTISERS[task.method]
    k = min(max(1, slots_within(share * size, V)), model.neighbours.slots)
    return k, _coded(method, items, size - list_bytes(k, V), ranked, task.seed)


def _coded(
    method: Quantiser, items: Tensor, size: float, ranked: list[dict[str, Any]], seed: int
) -> Tensor | None:
    """Items decoded by the first of the settings that fit."""
    tried = (method.code(items, size, settings, seed) for settings in ranked if size > 0)
    return next((y for y in tried if y is not None), None)


def weighed(ranker: Ranker, y: Tensor, votes: Votes, first: float) -> tuple[float, float, int]:
    """The best Recall@50 by one vote weight, that weight, and how many were measured."""
    values: dict[float, float] = {}

    def value(weight: float) -> float:
        if weight not in values:
            found = ranker.evaluate(y, votes, weight, ("recall@50",))
            values[weight] = recall(found)
        return values[weight]

    best = first
    for factor in (2.0, 0.5):
        while value(best * factor) > value(best):
            best *= factor
    for factor in (2**0.5, 0.5**0.5):
        best = max(best, best * factor, key=value)
    return value(best), best, len(values)


def list_bytes(k: int, n_items: int) -> float:
    """Bytes per item of lists of k neighbours and their sixteen levels."""
    return k * (max(1, (n_items - 1).bit_length()) + 4) / 8 + 32 / n_items


def units(model: Model, device: str) -> Tensor:
    """(V, D) the directions of a table's items."""
    items = torch.from_numpy(np.ascontiguousarray(model.table.items)).to(pick_device(device))
    return torch.nn.functional.normalize(items, dim=1)


def measure(task: Task) -> str:
    """Measure a rival at every size, by the settings that tuning chose."""
    if task.method == BASE:
        return measure_base(task)
    if task.method not in UNTRAINED:
        chosen, (_, model) = tuned(task), default.fitted(task)
        split, users = default.reported(task, model)
        ranker = ranker_of(model, split, task, users=users, part=task.part)
        most = LARGE if task.method in MEASURED_LARGE else LARGE - 1
        settings = {
            float(n): chosen[at] for n, at in TUNED_AT.items() if n <= most and at in chosen
        }
        started = time.perf_counter()
        for beside, size, found, config in measured_codes(task, model, ranker, settings):
            method = task.method + LISTS if beside else task.method
            record(task, method, size, found, split, started, config)
            started = time.perf_counter()
        return f"{task}: {len(chosen)} sizes tuned"
    split, users = untrained_split(task)
    ranker = Ranker(split, task.part, users, task.device)
    if task.method == POPULARITY:
        found = ranker.by_popularity(split.train.per_item)
        for size in SIZES:
            record(task, POPULARITY, size, found, split, time.perf_counter(), {})
        return str(task)
    chosen = tuned(task)
    with the_only_matrix(split):
        _measure_lists(task, split, ranker, chosen)
    return f"{task}: {len(chosen)} sizes tuned"


def measure_base(task: Task) -> str:
    """Measure the base trained with BPR, its items as bytes; lengths and the rest cost nothing."""
    from elasticrec.training.loop import train

    split, users = untrained_split(task)
    config = replace(
        default.preset_of(task).train, loss="bpr", cooccurrence=0.0, negatives=1, temperatures=()
    )
    table, started = train(split, config, device=task.device).table, time.perf_counter()
    lengths = np.linalg.norm(table.items, axis=1)
    ranker = Ranker(split, task.part, users, task.device, table.recency, lengths)
    items = torch.from_numpy(np.ascontiguousarray(table.items)).to(ranker.device)
    method = QUANTISERS["int8"]
    for size in SIZES:
        y = _coded(method, torch.nn.functional.normalize(items, dim=1), size, [*method.tried], 0)
        if y is not None:
            record(task, BASE, size, ranker.evaluate(y), split, started, asdict(config))
    return f"{task}: done"


def untrained_split(task: Task) -> tuple[Split, np.ndarray | None]:
    """Everything that is known where test is measured, and the users who are measured."""
    split = Split.load(task.path)
    if task.part == "test":
        return split.all_known(), None
    return split, default.shown_to_fit(split, task.part, task.users)[1]


def _measure_lists(
    task: Task, split: Split, ranker: Ranker, chosen: dict[float, dict[str, Any]]
) -> None:
    method, train = LISTS_ALONE[task.method], split.train
    for settings in method.tried:
        sizes = [size for size, each in chosen.items() if _extends(each["chosen"], settings)]
        if not sizes:
            continue
        started = time.perf_counter()
        G = shared(train, settings["user_power"], ranker.device)
        longest = method.make(G, train, settings)
        for size in sizes:
            k = slots_within(size, split.n_items)
            lists = cut_short(longest, k, G, train, chosen[size]["chosen"])
            found = ranker.evaluate(votes=Votes.of(*lists))
            record(task, task.method, size, found, split, started, chosen[size])
        del G, longest
        if ranker.device == "cuda":
            torch.cuda.empty_cache()


def _extends(chosen: dict[str, Any], settings: dict[str, Any]) -> bool:
    """True if the chosen settings are these and those of a cut."""
    return all(chosen.get(name) == value for name, value in settings.items())


def measured_codes(
    task: Task, model: Model, ranker: Ranker, chosen: dict[float, dict[str, Any]]
) -> Iterator[tuple[bool, float, Evaluation, dict[str, Any]]]:
    """True for codes beside lists, size, metrics and settings: each size without and with lists."""
    method, items = QUANTISERS[task.method], units(model, ranker.device)
    for size, config in chosen.items():
        y = _coded(method, items, size, config["chosen"], task.seed)
        if y is not None:
            yield False, size, ranker.evaluate(y), config
        if beside := config.get("lists"):
            k, y = _beside_lists(task, model, items, size, beside["share"], config["chosen"])
            if y is not None:
                votes = Votes.of_neighbours(model.neighbours, k, ranker.device)
                yield True, size, ranker.evaluate(y, votes, beside["weight"]), config


def record(
    task: Task, method: str, size: float, found: Evaluation, split: Split, started: float,
    config: dict[str, Any], **more: Any,
) -> None:  # fmt: skip
    """Append the line of a measurement, and keep its values per user."""
    fields = {
        **task.about, "method": method, "bytes_per_item": size, "format": FORMAT,
        "seconds": round(time.perf_counter() - started, 2), "config": config,
        "code_hash": code_hash(*CODE), **more,
    }  # fmt: skip
    comparing.record(EXPERIMENT, fields, found, split=split)
